"""Pictures of worlds, and a viewer in the browser. Wants the extra `view` (`pip install 'axion-server-client[view]'`).

`axion.render`, `axion.view`, `axion.Camera` and `axion.Renderer` lead here when they are first used.
"""
