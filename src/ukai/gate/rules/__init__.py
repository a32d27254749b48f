"""The checks of layer 1, one idea a file. Each is a plain function of the scene; `shape` calls them in order."""
