"""More programs, with statements on whole arrays: the README's example, networks, a long formula."""

NETWORK = """
def main(layers, x, y):
    h = x
    for w, b in layers[:-1]:
        h = np.tanh(h @ w + b)
    w, b = layers[-1]
    return np.mean((h @ w + b - y) ** 2)

sizes = {sizes}
layers = tuple((0.3 * rng.standard_normal(pair), 0.1 * rng.random(pair[1])) for pair in zip(sizes, sizes[1:]))
arguments = layers, rng.random((30, sizes[0])), rng.random((30, sizes[-1]))
"""

PROGRAMS = {
    "README's heat": """
def main(u0, r, data, steps):
    u, v = u0.copy(), u0.copy()
    for _ in range(steps):
        v[1:-1, 1:-1] = u[1:-1, 1:-1] + r * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
        u, v = v, u
    return 0.5 * np.sum((u - data) ** 2)

arguments = rng.random((40, 30)), 0.2, rng.random((40, 30)), 30
argnums = 0, 1
""",
    "network of 2": NETWORK.format(sizes=(8, 16, 4)),
    "network of 8": NETWORK.format(sizes=(8, 16, 16, 24, 24, 16, 16, 12, 4)),
    # The international equation of state of sea water (UNESCO, 1981), and the thermal expansion that follows from it.
    "state of sea water": """
def main(s, t, p, data):
    t2 = t * t
    t3 = t2 * t
    root = np.sqrt(s)
    s15 = s * root
    w = 1.001685e-4 + t * (-1.120083e-6 + t * 6.536332e-9)
    w = -9.095290e-3 + t * w
    w = 6.793952e-2 + t * w
    pure = 999.842594 + t * w
    w = 3.0 * 1.001685e-4 + t * (-4.0 * 1.120083e-6 + t * 5.0 * 6.536332e-9)
    w = -2.0 * 9.095290e-3 + t * w
    pure_t = 6.793952e-2 + t * w
    a = -8.2467e-7 + 5.3875e-9 * t
    a = 7.6438e-5 + t * a
    a = -4.0899e-3 + t * a
    a = 8.24493e-1 + t * a
    a_t = -3.0 * 8.2467e-7 * t2 + 4.0 * 5.3875e-9 * t3
    a_t = a_t + 2.0 * 7.6438e-5 * t
    a_t = a_t - 4.0899e-3
    b = -5.72466e-3 + 1.0227e-4 * t
    b = b - 1.6546e-6 * t2
    b_t = 1.0227e-4 - 2.0 * 1.6546e-6 * t
    surface = pure + a * s
    surface = surface + b * s15
    surface = surface + 4.8314e-4 * s * s
    surface_t = pure_t + a_t * s
    surface_t = surface_t + b_t * s15
    k = 1.360477e-2 - 5.155288e-5 * t
    k = -2.327105 + t * k
    k = 148.4206 + t * k
    k = 19652.21 + t * k
    k_t = 3.0 * 1.360477e-2 * t2 - 4.0 * 5.155288e-5 * t3
    k_t = k_t - 2.0 * 2.327105 * t
    k_t = k_t + 148.4206
    c = 1.09987e-2 - 6.1670e-5 * t
    c = -0.603459 + t * c
    c = 54.6746 + t * c
    c_t = 2.0 * 1.09987e-2 * t - 3.0 * 6.1670e-5 * t2
    c_t = c_t - 0.603459
    d = 1.6483e-2 - 5.3009e-4 * t
    d = 7.944e-2 + t * d
    d_t = 1.6483e-2 - 2.0 * 5.3009e-4 * t
    k = k + c * s
    k = k + d * s15
    k_t = k_t + c_t * s
    k_t = k_t + d_t * s15
    e = 1.16092e-4 - 5.77905e-7 * t
    e = 1.43713e-3 + t * e
    e = 3.239908 + t * e
    e_t = 2.0 * 1.16092e-4 * t - 3.0 * 5.77905e-7 * t2
    e_t = e_t + 1.43713e-3
    f = -1.0981e-5 - 1.6078e-6 * t
    f = 2.2838e-3 + t * f
    f_t = -1.0981e-5 - 2.0 * 1.6078e-6 * t
    e = e + f * s
    e = e + 1.91075e-4 * s15
    e_t = e_t + f_t * s
    g = -6.12293e-6 + 5.2787e-8 * t
    g = 8.50935e-5 + t * g
    g_t = -6.12293e-6 + 2.0 * 5.2787e-8 * t
    h = 2.0816e-8 + 9.1697e-10 * t
    h = -9.9348e-7 + t * h
    h_t = 2.0816e-8 + 2.0 * 9.1697e-10 * t
    g = g + h * s
    g_t = g_t + h_t * s
    bulk = k + p * (e + p * g)
    bulk_t = k_t + p * (e_t + p * g_t)
    share = 1.0 - p / bulk
    density = surface / share
    density_t = surface_t / share - density * p * bulk_t / (bulk * bulk * share)
    expansion = -density_t / density
    misfit = density - data
    return np.sum(misfit * misfit) + 1e6 * np.sum(expansion * expansion)

arguments = (
    30.0 + 8.0 * rng.random((8, 7, 6)), 25.0 * rng.random((8, 7, 6)), np.linspace(0.0, 400.0, 6).reshape(1, 1, 6),
    1030.0 + rng.random((8, 7, 6)),
)
argnums = 0, 1
""",
}
