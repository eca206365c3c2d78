"""The model, Eqs. 1-6 of the paper: networks, likelihood, prior, VAE and EWC."""
