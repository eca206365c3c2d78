"""What every floor uses: seeds, devices, threads, progress, files that are whole or absent."""
