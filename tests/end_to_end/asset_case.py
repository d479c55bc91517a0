"""What tests of assets share: a robot of files too large for one message, uploads by hand, and a server that they go to."""

import hashlib
import pathlib
import sys
import unittest

import axion
import grpc

import access_case as case
from axion.v1 import asset_pb2
from axion.v1 import simulation_pb2 as sim

BIN = pathlib.Path(sys.argv[1])
MIB = 1 << 20
SMALL = f'--max_message_bytes={MIB}'   # in place of 64 MiB, so that a robot need not be so large
Code = grpc.StatusCode


def mesh_file(size, side=0.1):
    """An OBJ file of so many bytes or some more: a box, and comments."""
    corners = ''.join(f'v {x * side} {y * side} {z * side}\n' for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    faces = 'f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n'
    line = '# ' + 'x' * 97 + '\n'
    return (corners + faces + line * (size // len(line) + 1)).encode()


def digest_of(content):
    return 'sha256:' + hashlib.sha256(content).hexdigest()


# A link of collision meshes, one of which weighs, and of a mesh for the eye.
ROBOT = """<mujoco model="large"><compiler meshdir="meshes"/><asset><mesh name="hull" file="hull.obj"/>
<mesh name="weight" file="weight.obj"/><mesh name="skin" file="skin.obj"/></asset>
<worldbody><body pos="0 0 1"><freejoint/><geom type="mesh" mesh="hull" mass="0"/>
<geom type="mesh" mesh="weight" contype="0" conaffinity="0"/>
<geom type="mesh" mesh="skin" contype="0" conaffinity="0" mass="0"/></body></worldbody></mujoco>"""
FILES = {'hull.obj': mesh_file(2 * MIB, 0.1), 'weight.obj': mesh_file(MIB, 0.2), 'skin.obj': mesh_file(3 * MIB, 0.3)}
HULL, WEIGHT, SKIN = (digest_of(content) for content in FILES.values())


def request(**changes):
    """Of the robot, all of whose files are named by digest."""
    digests = {name: digest_of(content) for name, content in FILES.items()}
    return sim.CreateModelRequest(**{'mjcf': ROBOT, 'asset_digests': digests, **changes})


def pieces(content, digest=None, size=None, length=MIB // 2):
    """Requests that upload it, or what is said to be it."""
    yield asset_pb2.UploadAssetsRequest(digest=digest_of(content) if digest is None else digest,
                                        size_bytes=len(content) if size is None else size, data=content[:length])
    for start in range(length, len(content), length):
        yield asset_pb2.UploadAssetsRequest(data=content[start:start + length])


class AssetsCase(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(case.scratch())

    def serve(self, *flags, **keywords):
        return self.enterContext(case.Server(BIN, *flags, **keywords))

    def missing(self, stub, wanted=None):
        """What the server says that it lacks; none where it makes the model."""
        try:
            stub.CreateModel(request() if wanted is None else wanted)
        except grpc.RpcError as error:
            told = axion.errors.from_rpc_error(error)
            self.assertEqual((told.code, told.reason), (Code.FAILED_PRECONDITION, 'ASSETS_MISSING'), told)
            return set(told.missing)
        return set()

    @staticmethod
    def used(server):
        return server.metric('axion_memory_bytes{kind="used"}')

    def upload(self, stub, *contents, **keywords):
        return stub.UploadAssets(piece for content in contents for piece in pieces(content, **keywords))
