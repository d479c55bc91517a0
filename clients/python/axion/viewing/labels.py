"""Names of the numbers of fields, for plots and recordings."""

from __future__ import annotations

from collections.abc import Sequence

from axion.model import Model

_COMPONENTS = {"body_velocity": ("vx", "vy", "vz", "wx", "wy", "wz"), "contact_impulse": ("Jx", "Jy", "Jz", "Lx", "Ly", "Lz")}
# What the solver did in a world's last step, of axion.WorldStats.
STATISTICS = ("newton_iterations", "linear_iterations", "sweep_rounds", "contact_sweeps", "contact_count", "max_penetration",
              "max_joint_error")


def names_of(model: Model, field: str, size: int) -> list[str]:
    """Of each of the `size` numbers of a field of one world."""
    names: list[str] = []
    if field in ("control", "actuator_force"):
        names = list(model.actuator_names)
    elif field in ("joint_position", "joint_velocity"):
        kind = "position" if field == "joint_position" else "velocity"
        for joint in model.proto.joints:
            count = getattr(joint, f"{kind}_count")
            names += [joint.name if count == 1 else f"{joint.name}[{i}]" for i in range(count)]
    elif field == "sensor_data":
        for name, part in model.sensors.items():
            names += [name if part.stop - part.start == 1 else f"{name}[{i}]" for i in range(part.stop - part.start)]
    elif size and model.body_count and size % model.body_count == 0 and field.startswith(("body", "contact_impulse")):
        width = size // model.body_count
        numbers: Sequence[str] = _COMPONENTS.get(field) or [f"[{i}]" for i in range(width)]
        names = [f"{body} {number}" for body in model.body_names for number in numbers]
    return names if len(names) == size else [f"{field}[{i}]" if size > 1 else field for i in range(size)]
