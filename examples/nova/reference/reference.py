"""The benchmarks of the NOVA paper's Table 2, and box3x3, in NumPy.

Reads {"benchmark": NAME, "inputs": [...]} per line (JSON, as `almach run -o OUT.json` writes values) and prints the result per line.
"""

import json
import math
import sys

import numpy as np


def bbox(points):
    points = np.array(points, np.float32)
    return [points.min(axis=0).tolist(), points.max(axis=0).tolist()]


def dot(a, b):
    return (np.array(a, np.float32) * np.array(b, np.float32)).sum(axis=1).tolist()


def norm(xs):
    return float(np.linalg.norm(np.array(xs, np.float64)))


def gridred(a):
    a = np.array(a, np.int32)
    return [a.sum(axis=1).tolist(), a.sum(axis=0).tolist(), int(a.sum())]


def sumstats(xs):
    xs = np.array(xs)
    return [len(xs), xs.min(), xs.max(), xs.mean(), xs.var()]


def sumrows(rows):
    return [int(np.array(row, np.int32).sum()) for row in rows]


def wordcount(text):
    return len(bytes(text).split())


def blackscholes(spot, strike, years, rate, volatility):
    spot, strike, years = (np.array(xs) for xs in (spot, strike, years))
    cdf = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = spot * cdf(d1) - discounted * cdf(d1 - spread)
    return np.stack([call, call + discounted - spot], axis=1).tolist()


def nbody(bodies, velocities, steps, dt):
    bodies, velocities = np.array(bodies), np.array(velocities)
    for _ in range(steps):
        r = bodies[None, :, :3] - bodies[:, None, :3]
        d = (r**2).sum(axis=2) + 0.01
        velocities = velocities + dt * (r * (bodies[:, 3] / (d * np.sqrt(d)))[:, :, None]).sum(axis=1)
        bodies[:, :3] += dt * velocities
    return bodies.tolist()


def spmv(columns, values, x):
    return (np.array(values) * np.array(x)[np.array(columns)]).sum(axis=1).tolist()


def box3x3(image):
    image = np.array(image, np.float32)
    h, w = image.shape
    padded = np.pad(image, 1, mode="edge")
    return (sum(padded[i : i + h, j : j + w] for i in range(3) for j in range(3)) / 9).tolist()


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(globals()[request["benchmark"]](*request["inputs"])))
