"""The algorithms, on encoded rows: MGVAE, and the baselines CVAE and CGAN."""
