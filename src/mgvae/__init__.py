"""Over-sampling imbalanced data with deep generative models that learn from the majority class.

Importing the package is cheap: scikit-learn, imbalanced-learn and torch are loaded when a name that
needs them is first used.
"""

__version__ = "0.1.0"
