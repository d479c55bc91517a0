"""Steps a batch far ahead of the answers, and then waits to be killed. Usage: stream_client.py ADDRESS BATCH STEPS stream|calls"""

import sys
import time

import axion

client = axion.Client(sys.argv[1])
batch = client.get_batch(sys.argv[2])
left = int(sys.argv[3])


def counts(most):
    """Of steps, until there were enough."""
    global left
    while left > 0:
        yield 1 + left % most
        left -= 1 + left % most


def told():
    print('ready', flush=True)


if sys.argv[4] == 'stream':
    with batch.stream() as stream:
        for i, _ in enumerate(stream.map(({'steps': count} for count in counts(3)), in_flight=16)):
            if i == 0:
                told()
        time.sleep(600)
else:
    batch.step()
    told()
    for count in counts(200):
        batch.step(steps=count)
    time.sleep(600)
