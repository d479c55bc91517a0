"""Scene and mesh files that lead astray: (what is wrong, CreateModelRequest)."""

import struct

from axion.v1 import simulation_pb2 as sim

BODY = '<body name="b" pos="0 0 1"><freejoint/>{}</body>'
SPHERE = '<geom type="sphere" size=".1"/>'


def mjcf(world, rest=''):
    return f'<mujoco>{rest}<worldbody>{world}</worldbody></mujoco>'


MJCF = {
    'no text': '', 'white space': '  \n', 'no XML': 'hello', 'an element that does not end': '<mujoco><worldbody>',
    'another root': '<robot/>', 'an entity that grows': '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><mujoco>&b;</mujoco>',
    'a file of the server': '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><mujoco model="&a;"/>',
    'elements nested a thousand deep': '<mujoco><worldbody>' + '<body>' * 1000 + '</body>' * 1000 + '</worldbody></mujoco>',
    'a document of zeros': '\0' * 100, 'an attribute twice': '<mujoco model="a" model="b"/>',
    'an include without its file': '<mujoco><include file="other.xml"/></mujoco>',
    'a path that climbs': '<mujoco><include file="../../etc/passwd"/></mujoco>',
    'an unknown element': mjcf('<teapot/>'), 'an unknown section': '<mujoco><kitchen/></mujoco>',
    'a geom of an unknown type': mjcf(BODY.format('<geom type="teapot" size="1"/>')),
    'a size of words': mjcf(BODY.format('<geom size="big"/>')), 'a size of nan': mjcf(BODY.format('<geom size="nan"/>')),
    'a size of 0': mjcf(BODY.format('<geom size="0"/>')), 'a size of -1': mjcf(BODY.format('<geom size="-1"/>')),
    'a size of 1e400': mjcf(BODY.format('<geom size="1e400"/>')), 'a size of four numbers': mjcf(BODY.format('<geom size="1 2 3 4"/>')),
    'no size': mjcf(BODY.format('<geom type="sphere"/>')), 'a mass of -1': mjcf(BODY.format('<geom size=".1" mass="-1"/>')),
    'a mass of inf': mjcf(BODY.format('<geom size=".1" mass="inf"/>')), 'no mass': mjcf(BODY.format('')),
    'a position of two numbers': mjcf('<body pos="0 0"><freejoint/>' + SPHERE + '</body>'),
    'a quaternion of zeros': mjcf('<body quat="0 0 0 0"><freejoint/>' + SPHERE + '</body>'),
    'a joint of an unknown type': mjcf('<body><joint type="screw"/>' + SPHERE + '</body>'),
    'an axis of zeros': mjcf('<body><joint axis="0 0 0"/>' + SPHERE + '</body>'),
    'limits upside down': mjcf('<body><joint limited="true" range="1 -1"/>' + SPHERE + '</body>'),
    'a free joint below a body': mjcf(f'<body>{SPHERE}<body><freejoint/>{SPHERE}</body></body>'),
    'two names alike': mjcf(BODY.format(SPHERE) * 2),
    'an actuator of an unknown joint': mjcf(BODY.format(SPHERE), '<actuator><motor joint="none"/></actuator>'),
    'an actuator of nothing': mjcf(BODY.format(SPHERE), '<actuator><motor/></actuator>'),
    'an equality of unknown bodies': mjcf(BODY.format(SPHERE), '<equality><weld body1="none" body2="b"/></equality>'),
    'an exclusion of an unknown body': mjcf(BODY.format(SPHERE), '<contact><exclude body1="none" body2="b"/></contact>'),
    'a pair of an unknown geom': mjcf(BODY.format(SPHERE), '<contact><pair geom1="none" geom2="none"/></contact>'),
    'a keyframe of another length': mjcf(BODY.format(SPHERE), '<keyframe><key qpos="1 2 3"/></keyframe>'),
    'a keyframe of nan': mjcf(BODY.format(SPHERE), '<keyframe><key qpos="nan 0 0 1 0 0 0"/></keyframe>'),
    'a class that is not there': mjcf(BODY.format('<geom class="none" size=".1"/>')),
    'a class that is its own parent': '<mujoco><default class="a"><default class="a"/></default></mujoco>',
    'a timestep of 0': mjcf(BODY.format(SPHERE),
    '<option timestep="0"/>'), 'gravity of nan': mjcf(BODY.format(SPHERE), '<option gravity="0 0 nan"/>'),
    'a mesh without its file': mjcf(BODY.format('<geom type="mesh" mesh="m"/>'), '<asset><mesh name="m" file="m.stl"/></asset>'),
    'a mesh that is not declared': mjcf(BODY.format('<geom type="mesh" mesh="m"/>')),
    'the name of a body with a surrogate': mjcf('<body name="&#xD800;"><freejoint/>' + SPHERE + '</body>'),
    'the name of a body beyond all characters': mjcf('<body name="&#x110000;"><freejoint/>' + SPHERE + '</body>'),
    'the name of a body that clears a screen': mjcf('<body name="&#27;[2J"><freejoint/>' + SPHERE + '</body>'),
    'the name of a geom of two lines': mjcf(BODY.format('<geom name="a&#10;b" size=".1"/>')),
    'the name of a scene with a surrogate': mjcf(BODY.format(SPHERE)).replace('<mujoco>', '<mujoco model="&#xDFFF;">'),
    'the name of a scene of 300 KB': mjcf(BODY.format(SPHERE)).replace('<mujoco>', f'<mujoco model="{"x" * 300_000}">'),
    'three thousand bodies that may all touch': mjcf(''.join(f'<body><freejoint/>{SPHERE}</body>' for _ in range(3000))),
}
def urdf(content):
    return f'<robot name="r">{content}</robot>'


def link(name, mass=None, inertia='ixx="1" iyy="1" izz="1"'):
    if mass is None:
        return f'<link name="{name}"/>'
    return f'<link name="{name}"><inertial><mass value="{mass}"/><inertia {inertia} ixy="0" ixz="0" iyz="0"/></inertial></link>'


def joint(name, kind, parent, child, rest=''):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{rest}</joint>'


A, B = link('a'), link('b')
URDF = {
    'no text': '', 'no XML': 'x', 'another root': '<mujoco/>', 'no link': urdf(''), 'two roots': urdf(A + B),
    'a joint to an unknown link': urdf(A + joint('j', 'fixed', 'a', 'z')),
    'a ring of links': urdf(A + B + joint('j', 'fixed', 'a', 'b') + joint('k', 'fixed', 'b', 'a')),
    'a joint of an unknown type': urdf(A + B + joint('j', 'screw', 'a', 'b')),
    'the name of a link with a surrogate': urdf(link('&#xD800;')),
    'the name of a robot with a control character': '<robot name="&#7;">' + A + '</robot>',
    'a mass of -1': urdf(A + link('b', -1) + joint('j', 'floating', 'a', 'b')), 'a mass of words': urdf(link('a', 'much')),
    'an inertia that is none': urdf(A + link('b', 1, 'ixx="-1" iyy="-1" izz="-1"') + joint('j', 'floating', 'a', 'b')),
    'a mesh without its file': urdf('<link name="a"><collision><geometry><mesh filename="x/m.stl"/></geometry></collision></link>'),
    'limits upside down': urdf(A + link('b', 1) + joint('j', 'revolute', 'a', 'b', '<limit lower="1" upper="-1"/>')),
}
TRIANGLE = struct.pack('<12f', *range(12)) + b'\0\0'
FLAT = struct.pack('<12f', 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0) + b'\0\0'
MESHES = {
    'm.stl': {'no bytes': b'', 'a header alone': bytes(80), 'a count of four billion': bytes(80) + struct.pack('<I', 2**32 - 1),
              'fewer triangles than said': bytes(80) + struct.pack('<I', 5) + TRIANGLE,
              'points that are nan': bytes(80) + struct.pack('<I', 4) + (struct.pack('<12f', *[float('nan')] * 12) + b'\0\0') * 4,
              'points in a plane': bytes(80) + struct.pack('<I', 2) + FLAT * 2,
              'text that stops': b'solid x\nfacet normal 0 0 1\nouter loop\nvertex 1 2'},
    'm.obj': {'no bytes': b'',
    'a vertex of words': b'v a b c\n', 'a face without vertices': b'f 1 2 3\n', 'an index of a billion': b'v 0 0 0\nf 1 1 1000000000\n',
              'a vertex of 1e999': b'v 1e999 0 0\nv 0 1 0\nv 0 0 1\nv 1 1 1\n',
              'points in a line': b'v 0 0 0\nv 1 0 0\nv 2 0 0\nv 3 0 0\nf 1 2 3\n'},
    'm.msh': {'no bytes': b'',
    'counts below 0': struct.pack('<4i', -1, -1, -1, -1), 'counts of two billion': struct.pack('<4i', *[2**31 - 1] * 4),
              'half of its vertices': struct.pack('<4i', 4, 0, 0, 0) + bytes(8)},
}


def scenes():
    for text, document in MJCF.items():
        yield f'MJCF: {text}', sim.CreateModelRequest(mjcf=document)
    for text, document in URDF.items():
        yield f'URDF: {text}', sim.CreateModelRequest(urdf=document)
    for name, contents in MESHES.items():
        for text, content in contents.items():
            document = mjcf(BODY.format('<geom type="mesh" mesh="m"/>'), f'<asset><mesh name="m" file="{name}"/></asset>')
            yield f'{name}: {text}', sim.CreateModelRequest(mjcf=document, assets={name: content})
