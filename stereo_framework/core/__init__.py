"""What everything else is made of: scenes, search ranges, pairs, volumes, views, and how stages and parameters are declared."""
