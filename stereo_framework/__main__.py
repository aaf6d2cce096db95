"""``python -m stereo_framework``: the command ``stereo-framework`` where it is not on the path."""

from stereo_framework.cli.main import main

main()
