"""What every stage uses: options, threads, optional packages, whole files."""
