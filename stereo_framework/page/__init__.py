"""What is made of results to be looked at: the files that a script's report asks for, and HTML pages of runs and papers."""
