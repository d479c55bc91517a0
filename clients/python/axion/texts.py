"""Texts of docstrings that stand in many calls, once each.

A docstring under `documented` names of its parameters those alone that have words of their own; the others' are here. One under
`documented_call`, a call of the server, has besides what every such call raises; one under `documented_part`, which adds a part to a
scene, what it returns and raises. What is installed is completed while it is built (setup.py), so that editors and pages of reference,
which read files, find whole docstrings; a checkout is completed as it is imported.

"{AxisSpec} -limited -lower" stands for the fields of that message that the call has no parameter for, but for those that follow, each
with its comment in the message.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

_Named = TypeVar("_Named")
_Parameter = tuple[str, "str | None", str]  # name with its stars, and the texts of its default and its annotation

# Sections of what has such a mark.
_SECTIONS: dict[str, dict[str, str]] = {
    "documented": {},
    "documented_call": {"Raises": """\
AxionError
    The server refuses the call, which then has changed nothing, or cannot be reached."""},
    "documented_part": {"Returns": """\
int
    Its index, which later methods take.""", "Raises": """\
ValueError
    A field does not exist, or has not so many numbers."""}}

_PARAMETERS = """\
about : dict[str, Any]
    Kept with the policy.
actions : numpy.ndarray
    [num_envs, nu].
activation : array_like
    Activations of actuators, held within their ranges: [n, activations].
after : numpy.ndarray
    What the server's task observed after the action: [n, k].
anchor : sequence of float
    Where the joint holds, in the frame of the child, m: [3].
autoreset_mode : AutoresetMode or str, default AutoresetMode.NEXT_STEP
    NEXT_STEP, SAME_STEP or DISABLED, as gymnasium.vector.AutoresetMode says.
axis : sequence of float
    Direction in the frame of the child, of any length above zero: [3].
batch : Batch
    The worlds.
batch_choices : Mapping[str, Any]
    Further arguments of Client.create_batch, for example precision or options.
body_pose : array_like
    Poses of the bodies, x y z (m) and quaternion w x y z: [n, nb, 7]. Quaternions are normalised by the server.
body_velocity : array_like
    Velocities of the bodies, linear of the centre of mass (m/s), then angular (rad/s), world frame: [n, nb, 6].
body_wrench : array_like
    Force (N), then torque about the centre of mass (N m), world frame, held over the steps: [n, nb, 6].
camera : Camera
    From where; None: moving with the robot where it is free to go, else from where all of it is seen.
child : int
    Index of the body that hangs on it.
client : Client
    The connection.
contacts : bool
    Whether frames have the contacts.
control : array_like
    Controls (rad, m, N or N m as the actuator says): [nu] for every world alike, [n, nu] held over the steps, or [n,
    steps, nu] one row a step. None keeps the last, zero at first.
credentials : grpc.ChannelCredentials
    Made by hand, in the place of all choices of TLS.
dt : float
    Time step, s; None takes the model's.
expected_step : int
    Step index that every world must be at.
height : int
    Pixels, of such a picture.
insecure_token : bool
    Send the token to another machine without TLS.
joint_position : array_like
    Coordinates of the joints (rad, m), which place the bodies by the joint tree: [n, nq]. Give body_* or joint_*, not
    both.
joint_velocity : array_like
    Their rates (rad/s, m/s): [n, nv].
lock_damping : float
    Their damper, N s/m and N m s/rad.
lock_stiffness : float
    Spring of the locked directions, N/m and N m/rad; 0 is rigid.
max_episode_steps : int
    Actions after which an episode is truncated; None: the task's.
max_message_bytes : int, default DEFAULT_MAX_MESSAGE_BYTES
    The greatest message taken or sent, bytes; the server has its own limit (server_info().limits).
mocap_pose : array_like
    Where the mocap bodies stand, x y z (m) and quaternion w x y z: [n, mocap bodies, 7]. None leaves them where they
    are; Model.proto.mocaps names them.
model : Model or str
    The model, or its resource name.
name : str
    Its name.
options : dict[str, Any]
    options["reset_mask"], bool [num_envs], is true for worlds in which they begin; without it in all.
outputs : str or Iterable[str]
    Names of the fields to return, for example ("body_pose", "joint_velocity"); Model.proto.fields lists them.
page_size : int
    How many the server is asked for at once; 0 leaves that to the server. All are returned in any case.
parameters : Mapping[str, array_like]
    Numbers that these worlds have in place of the model's from now on, by name: [n, ...] of the shape that
    parameter_shapes gives.
parent : int
    Index of the body that it hangs on; None is the world.
patience : float
    Seconds for which a server may be UNAVAILABLE before it counts as lost.
position : sequence of float
    x, y, z, m: [3].
proto
    The answer.
radius : float
    m.
rate : float
    Frames a second at most.
record_every : int
    0 returns the outputs after the last step, [n, ...]; r returns them after every r steps, [n, steps / r, ...].
render_mode : str
    "rgb_array": render() draws each world, with the extra `view`.
report : Callable[[Progress], None]
    Called after each update.
request_id : str
    A repeated one gets the first answer again and steps nothing, so that a retry is safe. Without one a client that
    retries makes one.
retry : float
    Seconds for which a call is made again, with growing waits, while the server is UNAVAILABLE, as when it is started
    again; a call's own timeout holds besides. Not before the server was there once; 0 is never. Steps carry a
    request_id and the batch's incarnation, so that none is made twice: a batch that has lost steps
    (docs/snapshots.md) raises AbortedError.
rotation : sequence of float
    Quaternion w, x, y, z: [4].
seed : int or Sequence[int]
    An int s gives world i the seed s + i; a sequence has one each, None for a world that goes on with its own.
side : FrameSpec
    A frame() on whose side the tendon passes, or through the body where that is within it; None is either.
snapshot : bytes or sequence of bytes
    get_state("snapshot")["snapshot"] of any worlds of the same model, precision, dt and options, [n] or one for all;
    nothing else may be given with it. The worlds go on with the bits of the worlds that it was taken of.
solver_stats : bool
    Whether frames have what the solver did.
steps : int
    How many steps.
target : str
    Address of the server, "host:port", or "host" where it listens on port 8470. None: that of the environment's
    AXION_SERVER; else DEFAULT_TARGET if something listens there or credentials are given; else that of axion.local,
    if there is an axiond to start.
task : ServerTask or str
    A ServerTask, or the name of one of Gymnasium's.
**task_choices
    Fields of a task that is named, for example ctrl_cost_weight.
time : array_like
    Simulated time, s: [n].
timeout : float
    Seconds after which the call is given up; None waits for its answer.
tls : bool
    True for TLS with the system's authorities, False for none whatever the environment says.
tls_ca : path
    File of the authorities, PEM, that may have issued the server's certificate.
tls_cert : path
    File of this client's own certificate, PEM, for servers that want one.
tls_key : path
    File of its key, PEM.
tls_server_name : str
    What the server's certificate is for, where that is not the target's name.
token : str
    Of the tenant, sent with every call.
width : int
    Pixels, of such a picture.
world_count : int
    How many worlds, n.
worlds : int, sequence of int or mask
    Which worlds: one index, n distinct indices, or a boolean mask [world_count]; None is all of them.
"""

_ORDER = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Examples")


def _entries(section: str) -> dict[str, str]:
    """Entries of a section, by each of their names."""
    entries = [entry.rstrip() for entry in re.split(r"^(?=\S)", section, flags=re.MULTILINE) if entry.strip()]
    return {name: entry for entry in entries for name in re.split(r" : |\n", entry)[0].split(", ")}


_SHARED = _entries(_PARAMETERS)


def _shared(name: str, default: str | None, annotation: str) -> str | None:
    """The entry of a parameter that has no words of its own, with its default, and with its annotation where types differ."""
    if name not in _SHARED:
        return None
    head, _, text = _SHARED[name].partition("\n")
    if head == name and not name.startswith("*"):
        head = f"{name} : {annotation}"
    if default is not None and " default " not in head:
        head += ", optional" if default in ("None", "()") else f", default {default}"
    return f"{head}\n{text}"


def _with_fields(entry: str, parameters: Iterable[_Parameter], fields: Mapping[str, Mapping[str, str]]) -> str:
    """An entry with the fields of a message that it names."""
    found = re.search(r"^ +.*\{(\w+Spec)\}((?:\s+-\w+)*)", entry, re.MULTILINE)
    if not found:
        return entry
    left_out = {"name", *(one[0] for one in parameters), *re.findall(r"-(\w+)", found[2])}
    listed = [f"{name} ({text})" if text else name for name, text in fields[found[1]].items() if name not in left_out]
    head = entry[:found.start()] + found[0].partition("{")[0] + ", ".join(listed)
    title, _, text = (head + entry[found.end():]).partition("\n")
    return title + "\n" + textwrap.fill(" ".join(text.split()), 116, initial_indent="    ", subsequent_indent="    ",
                                        break_long_words=False, break_on_hyphens=False)


def completed(doc: str, parameters: Iterable[_Parameter], mark: str, fields: Mapping[str, Mapping[str, str]]) -> str:
    """A docstring with entries of all of these parameters that have one, and with what its mark says besides."""
    head, *parts = re.split(r"^(\w+)\n-{3,}\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], (part.strip("\n") for part in parts[1::2])))
    own = _entries(sections.get("Parameters", ""))
    listed = [own.get(one[0]) or _shared(*one) for one in parameters]
    if any(listed):
        sections["Parameters"] = "\n".join(dict.fromkeys(_with_fields(entry, parameters, fields) for entry in listed if entry))
    if "Returns" in _SECTIONS[mark]:
        sections.setdefault("Returns", _SECTIONS[mark]["Returns"])
    raised = {**_entries(_SECTIONS[mark].get("Raises", "")), **_entries(sections.get("Raises", ""))}
    if raised:
        sections["Raises"] = "\n".join(raised.values())
    titles = sorted(sections, key=_ORDER.index)
    return "\n\n".join([head.strip(), *(f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in titles)])


def _complete(named: _Named, mark: str) -> _Named:
    from axion.v1.field_texts import FIELDS  # which is not there yet while it is built

    given = inspect.signature(named.__init__ if isinstance(named, type) else named).parameters.values()  # type: ignore[misc, arg-type]
    stars: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = [(stars.get(one.kind, "") + one.name, None if one.default is one.empty else repr(one.default), str(one.annotation))
                  for one in given]
    named.__doc__ = completed(named.__doc__ or "", parameters, mark, FIELDS)
    return named


def documented(named: _Named) -> _Named:
    """Decorator: a function or a class whose docstring is completed."""
    return _complete(named, "documented")


def documented_call(named: _Named) -> _Named:
    """Decorator: likewise a call of the server."""
    return _complete(named, "documented_call")


def documented_part(named: _Named) -> _Named:
    """Decorator: likewise a method that adds a part to a scene."""
    return _complete(named, "documented_part")


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[_Parameter]:
    """As inspect.signature has them."""
    given = function.args
    positional = given.posonlyargs + given.args
    missing = len(positional) - len(given.defaults)
    found = [(one, None if i < missing else ast.unparse(given.defaults[i - missing]), "") for i, one in enumerate(positional)]
    found += [(given.vararg, None, "*")] if given.vararg else []
    found += [(one, None if default is None else ast.unparse(default), "") for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    found += [(given.kwarg, None, "**")] if given.kwarg else []
    return [(stars + one.arg, default, "" if one.annotation is None else ast.unparse(one.annotation)) for one, default, stars in found]


def makers(sources: Iterable[str]) -> dict[str, list[_Parameter]]:
    """What each class of these files is made of, by its name, if it has an __init__ of its own."""
    classes = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]
    return {one.name: _arguments(member) for one in classes for member in one.body
            if isinstance(member, ast.FunctionDef) and member.name == "__init__"}


def _documented(tree: ast.AST, made: Mapping[str, list[_Parameter]]) -> Iterator[tuple[ast.Constant, list[_Parameter], str]]:
    """Docstrings under the decorators, with their parameters and marks."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        marks = [one.id for one in node.decorator_list if isinstance(one, ast.Name) and one.id in _SECTIONS]
        first = node.body[0]
        if not marks or not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
            continue
        bases = [node.name, *(base.id for base in node.bases if isinstance(base, ast.Name))] if isinstance(node, ast.ClassDef) else []
        parameters = next((made[name] for name in bases if name in made), []) if isinstance(node, ast.ClassDef) else _arguments(node)
        yield first.value, parameters, marks[0]


def completed_source(source: str, made: Mapping[str, list[_Parameter]], fields: Mapping[str, Mapping[str, str]]) -> str:
    """A file of the package with whole docstrings; `made` is of `makers`, `fields` are texts of fields by message."""
    lines = source.split("\n")
    for doc, parameters, mark in sorted(_documented(ast.parse(source), made), key=lambda found: -found[0].lineno):
        assert isinstance(doc.value, str) and doc.end_lineno is not None
        text = completed(doc.value, parameters, mark, fields)
        assert "\\" not in text, f"docstring with a backslash: {text}"  # as it would have to be written otherwise
        whole = [f"{' ' * doc.col_offset}{line}".rstrip() for line in f'"""{text}\n"""'.split("\n")]
        lines[doc.lineno - 1:doc.end_lineno] = whole
    return "\n".join(lines)
