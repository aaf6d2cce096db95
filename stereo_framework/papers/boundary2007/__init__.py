"""Kostliva, Cech & Sara: Feasibility boundary in dense and semi-dense stereo matching, CVPR 2007."""
