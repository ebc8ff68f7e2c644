"""What `make bench` measures. See README.md beside this file."""
