"""Worlds of the quadruped in ten lines: they stand for a second."""

import pathlib
import axion

scene = pathlib.Path(__file__).parents[1] / "models" / "quadruped.xml"
with axion.Client("127.0.0.1:8470") as client:
    model = client.create_model(mjcf=scene.read_text())
    with client.create_batch(model, world_count=256, dt=0.005) as batch:
        batch.reset(keyframe="stand")
        result = batch.step(control=model.hold_control("stand"), steps=200, outputs=["body_pose"])
        print("trunk heights after 1 s:", result["body_pose"][:4, 0, 2], "m")
