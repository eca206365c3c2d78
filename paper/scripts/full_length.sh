#!/usr/bin/env bash
# Work out the paper's protocol at its full length, what matters most first; about 14 core-hours.
#
#   MGVAE_DATA=... scripts/full_length.sh [--results FOLDER] [--cache FOLDER]
#
# Run it in the folder of this project, from a clean checkout: each result names its commit. It may
# be interrupted at any moment: what is done is not done again, and a pre-training that was finished
# is kept in the cache. In brackets, core-minutes on a core that is not shared.
set -u
run() { mgvae-paper run --protocol paper "$@" "${options[@]}"; }
options=("$@")

# tables: 700 exemplars in the main row; the grid shares its pre-training
run musk water_quality isolet --only LDAM                      # [3]
run grid_water_quality grid_musk --only '700*'                 # [35]
run musk water_quality --only MGVAE                            # [6]
run grid_isolet --only '700*'                                  # [32]
run isolet --only MGVAE                                        # [22] a draw for each seed
# images: rows of the main tables, then MNIST's grid
run mnist fashionmnist --only LDAM                             # [25]
run mnist --only MGVAE                                         # [20]
run fashionmnist --only MGVAE                                  # [20]
run mnist fashionmnist --only OCVAE                            # [70] 200 epochs
run grid_mnist                                                 # [80]
# the rest
run mnist fashionmnist                                         # [95]
run ablation_mnist                                             # [30]
run upper_bound                                                # [8]
run grid_musk grid_water_quality grid_isolet                   # [75] 2,000 and 4,000 exemplars
run lambda_fashionmnist                                        # [30] a part of the next grid
run grid_fashionmnist                                          # [30]
run published_mnist                                            # [240] 61,000 steps, 10,000 exemplars
