"""The site in a browser: search, keyboard, phones, light and dark."""

import json

import pytest
from browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine")

PAGES = (
    "index.html",
    "choose.html",
    "balanced-classifier.html",
    "gallery/plot_01_first_steps.html",
    "reference/api.html",
    "reference/commands.html",
    "results/index.html",
    "results/efficacy.html",
)


@pytest.fixture(scope="module")
def browser(site, tmp_path_factory):
    """Return one browser for all tests."""
    browser = Browser(site, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("BalancedClassifier", "balanced-classifier.html"),
        ("sigterm", "checkpoints.html"),
        ("threshold", "problem.html"),
    ],
)
def test_a_search_lists_the_page(browser, word, page):
    browser.open(f"search.html?q={word}")
    browser.wait(
        "document.querySelector('#search-results > p')?.innerText.match(/finished|found/i)"
    )
    links = browser.ask("[...document.querySelectorAll('#search-results li > a')].map(a => a.href)")
    assert [link for link in links if f"/{page}" in link]


def test_the_keyboard_reaches_the_content_the_menu_and_the_search(browser):
    browser.open("index.html")
    browser.press("Tab")
    assert browser.ask("document.activeElement.innerText") == "Skip to main content"
    reached = []
    for _ in range(20):
        browser.press("Tab")
        reached.append(
            browser.ask("document.activeElement.ariaLabel || document.activeElement.innerText")
        )
    menu = ["User guide", "Gallery", "Reference", "Results", "Project"]
    assert [name for name in reached if name in menu][: len(menu)] == menu
    assert "Search" in reached


def test_the_keyboard_skips_to_the_content(browser):
    browser.open("guide.html")
    browser.press("Tab")
    browser.press("Enter")
    browser.wait("location.hash == '#main-content'")
    browser.press("Tab")
    assert browser.ask("document.querySelector('#main-content').contains(document.activeElement)")


def test_a_search_needs_no_mouse(browser):
    browser.open("index.html")
    while browser.ask("document.activeElement.ariaLabel") != "Search":
        browser.press("Tab")
    browser.press("Enter")
    browser.wait("document.activeElement.matches('input[type=search]')")
    browser.type("sigterm")
    browser.press("Enter")
    browser.wait("location.pathname == '/search.html' && document.readyState == 'complete'")
    browser.wait("document.querySelectorAll('#search-results li > a').length")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(browser, page):
    browser.open(page, width=390, height=844)
    assert browser.ask("document.documentElement.scrollWidth") == 390
    wide = browser.ask(
        "[...document.querySelectorAll('.bd-article h1, .bd-article h2, .bd-article p')]"
        ".filter(x => x.scrollWidth > x.clientWidth + 1).map(x => x.innerText)"
    )
    assert not wide


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_follows_the_setting_of_the_system(browser, theme):
    browser.open("index.html", theme=theme)
    colour = browser.wait("getComputedStyle(document.body).backgroundColor")
    red, green, blue = json.loads("[" + colour[colour.index("(") + 1 : colour.index(")")] + "]")[:3]
    assert (red + green + blue > 600) == (theme == "light")
    shown = browser.ask(
        "[...document.querySelectorAll('img.front-picture')]"
        ".filter(x => x.offsetParent).map(x => x.src)"
    )
    assert [theme in source for source in shown] == [True]


def test_pages_ask_nobody_else_for_anything(browser):
    for page in ("index.html", "method.html", "search.html?q=bridge"):
        browser.open(page)
    local = f"http://127.0.0.1:{browser.server.server_port}/"
    assert browser.requested
    assert not [
        address for address in browser.requested if not address.startswith((local, "data:"))
    ]
