/* Hand tracking: errors, and their Jacobian by tangents: each number that depends on the pose is a value and its
   derivatives by the 26 parameters (`Dual`). */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N = 26, W = N + 1 };

/* W numbers: the value, then the derivatives; `w` of them are computed (1 or W). */
typedef double Dual[W];

static void constant(double *a, double x, int w)
{
    memset(a, 0, w * sizeof *a);
    a[0] = x;
}

/* c += a b */
static void add_product(double *restrict c, const double *restrict a, const double *restrict b, int w)
{
    for (int i = 1; i < w; i++)
        c[i] += a[0] * b[i] + a[i] * b[0];
    c[0] += a[0] * b[0];
}

static void add_scaled(double *restrict c, const double *restrict a, double s, int w)
{
    for (int i = 0; i < w; i++)
        c[i] += a[i] * s;
}

/* C = A B, of n x n matrices of duals in rows of n */
static void multiply(const Dual *a, const Dual *b, Dual *c, int n, int w)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            constant(c[n * i + j], 0, w);
            for (int k = 0; k < n; k++)
                add_product(c[n * i + j], a[n * i + k], b[n * k + j], w);
        }
}

/* The rotation by angle[k], of which the derivative is in column at[k] (-1: none), about axis k. */
static void about(int axis, double angle, int at, Dual *r, int w)
{
    int p = (axis + 1) % 3, q = (axis + 2) % 3;
    double c = cos(angle), s = sin(angle);
    for (int i = 0; i < 9; i++)
        constant(r[i], i % 4 == 0, w);
    r[4 * p][0] = r[4 * q][0] = c, r[3 * q + p][0] = s, r[3 * p + q][0] = -s;
    if (w > 1 && at >= 0)
        r[4 * p][1 + at] = r[4 * q][1 + at] = -s, r[3 * q + p][1 + at] = c, r[3 * p + q][1 + at] = -c;
}

static void global(const double *theta, Dual *r, int w)
{
    double angle = sqrt(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]);
    for (int i = 0; i < 9; i++)
        constant(r[i], i % 4 == 0, w);
    if (angle < 0.0001)
        return;
    Dual v[3], c, s, rest;
    constant(c, cos(angle), w), constant(s, sin(angle), w);
    for (int i = 0; i < 3; i++) {
        constant(v[i], theta[i] / angle, w);
        for (int k = 0; w > 1 && k < 3; k++)
            v[i][1 + k] = ((i == k) - theta[i] * theta[k] / (angle * angle)) / angle;
    }
    for (int k = 0; w > 1 && k < 3; k++)
        c[1 + k] = -s[0] * theta[k] / angle, s[1 + k] = c[0] * theta[k] / angle;
    constant(rest, 1, w);
    add_scaled(rest, c, -1, w);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            Dual both;
            constant(both, 0, w);
            add_product(both, v[i], v[j], w);
            constant(r[3 * i + j], 0, w);
            add_product(r[3 * i + j], both, rest, w);
            if (i == j)
                add_scaled(r[3 * i + j], c, 1, w);
            else {
                Dual turn;
                constant(turn, 0, w);
                add_product(turn, v[3 - i - j], s, w);
                add_scaled(r[3 * i + j], turn, (j - i + 3) % 3 == 1 ? -1 : 1, w);
            }
        }
}

static double run(const double *theta, const double *us, const int64_t *parents, const double *relatives,
                  const double *inverses, const double *base, const double *weights, int64_t mirrored,
                  const int64_t *corners, const double *points, double *work, double *errors, double *by_us,
                  double *by_theta, int64_t bones, int64_t vertices, int64_t count, int64_t on_triangles, int w)
{
    Dual *absolutes = (Dual *)work, *positions = absolutes + 16 * bones;
    memset(positions, 0, vertices * 3 * sizeof *positions);
    for (int64_t b = 0; b < bones; b++) {
        Dual rotations[3][9], two[9], three[9], turn[16], posed[16], fixed[16];
        int64_t finger = b >= 2 ? (b - 2) / 4 : 5, joint = b >= 2 ? (b - 2) % 4 : 3;
        int64_t at = finger < 5 && joint < 3 ? 6 + 4 * finger + joint + (joint > 0) : -1;
        int64_t side = at >= 0 && joint == 0 ? at + 1 : -1;
        about(0, at < 0 ? 0 : theta[at], at, rotations[0], w);
        about(1, 0, -1, rotations[1], w);
        about(2, side < 0 ? 0 : theta[side], side, rotations[2], w);
        multiply(rotations[2], rotations[1], two, 3, w);
        multiply(two, rotations[0], three, 3, w);
        for (int i = 0; i < 16; i++) {
            constant(turn[i], i % 5 == 0, w);
            if (i / 4 < 3 && i % 4 < 3)
                memcpy(turn[i], three[3 * (i / 4) + i % 4], w * sizeof(double));
            constant(fixed[i], relatives[16 * b + i], w);
        }
        multiply(fixed, turn, posed, 4, w);
        if (parents[b] < 0)
            memcpy(absolutes + 16 * b, posed, sizeof posed);
        else
            multiply(absolutes + 16 * parents[b], posed, absolutes + 16 * b, 4, w);
    }
    for (int64_t b = 0; b < bones; b++) {
        Dual transform[16], fixed[16];
        for (int i = 0; i < 16; i++)
            constant(fixed[i], inverses[16 * b + i], w);
        multiply(absolutes + 16 * b, fixed, transform, 4, w);
        for (int64_t v = 0; v < vertices; v++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 4; j++)
                    add_scaled(positions[3 * v + i], transform[4 * i + j], base[4 * v + j] * weights[v * bones + b], w);
    }
    Dual rotation[9];
    global(theta, rotation, w);
    for (int64_t v = 0; v < vertices; v++) {
        Dual turned[3];
        for (int i = 0; mirrored && i < w; i++)
            positions[3 * v][i] = -positions[3 * v][i];
        for (int i = 0; i < 3; i++) {
            constant(turned[i], theta[3 + i], w);
            if (w > 1)
                turned[i][4 + i] = 1;
            for (int j = 0; j < 3; j++)
                add_product(turned[i], rotation[3 * i + j], positions[3 * v + j], w);
        }
        memcpy(positions + 3 * v, turned, sizeof turned);
    }
    for (int64_t i = 0; i < count; i++) {
        double share[3] = {1, 0, 0};
        if (on_triangles)
            share[0] = us[2 * i], share[1] = us[2 * i + 1], share[2] = 1 - share[0] - share[1];
        for (int j = 0; j < 3; j++) {
            const double *corner[3];
            for (int k = 0; k < 3; k++)
                corner[k] = positions[3 * corners[3 * i + k] + j];
            errors[3 * i + j] = points[3 * i + j] - share[0] * corner[0][0] - share[1] * corner[1][0] - share[2] * corner[2][0];
            if (w == 1)
                continue;
            for (int k = 0; k < N; k++)
                by_theta[(3 * i + j) * N + k] =
                    -share[0] * corner[0][1 + k] - share[1] * corner[1][1 + k] - share[2] * corner[2][1 + k];
            by_us[2 * (3 * i + j)] = corner[2][0] - corner[0][0];
            by_us[2 * (3 * i + j) + 1] = corner[2][0] - corner[1][0];
        }
    }
    return 0;
}

double value(const double *theta, const double *us, const int64_t *parents, const double *relatives,
             const double *inverses, const double *base, const double *weights, int64_t mirrored, const int64_t *corners,
             const double *points, double *work, double *errors, int64_t bones, int64_t vertices, int64_t count,
             int64_t on_triangles)
{
    return run(theta, us, parents, relatives, inverses, base, weights, mirrored, corners, points, work, errors, 0, 0,
               bones, vertices, count, on_triangles, 1);
}

double jacobian(const double *theta, const double *us, const int64_t *parents, const double *relatives,
                const double *inverses, const double *base, const double *weights, int64_t mirrored,
                const int64_t *corners, const double *points, double *work, double *errors, double *by_us,
                double *by_theta, int64_t bones, int64_t vertices, int64_t count, int64_t on_triangles)
{
    return run(theta, us, parents, relatives, inverses, base, weights, mirrored, corners, points, work, errors, by_us,
               by_theta, bones, vertices, count, on_triangles, W);
}
