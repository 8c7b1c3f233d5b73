"""One file a program: the convex designs of `designing/families`, stated in CVXPY."""
