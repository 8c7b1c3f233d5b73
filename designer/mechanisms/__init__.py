"""The frozen objects that release: one folder for each kind, with its mechanism, noise, release, accuracy and spec."""
