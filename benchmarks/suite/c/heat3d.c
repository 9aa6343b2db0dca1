/* The heat equation on n x m x l points, `steps` explicit steps; half the squared distance from a target, and its gradient
   by the initial state and the coefficient.

   Of the trajectory snapshots are kept; the states between two of them are computed again. The adjoint of the step is the
   step, but for the rim: it is zero in the arrays, and what reaches it is summed in six faces. */
#include "common.h"

typedef struct {
    int64_t n, m, l;
} Box;

static inline size_t points(Box b) { return (size_t)(b.n * b.m * b.l); }

static inline void step_row(const double *R u, double *R v, int64_t row, Box b, double r)
{
    const int64_t l = b.l, p = b.m * b.l;
    const double *R c = u + row, *R up = c - p, *R down = c + p, *R north = c - l, *R south = c + l;
    double *R out = v + row;
#pragma omp simd
    for (int64_t k = 1; k < l - 1; k++)
        out[k] = c[k] + r * (up[k] + down[k] + north[k] + south[k] + c[k - 1] + c[k + 1] - 6.0 * c[k]);
}

static inline double back_row(const double *R u, const double *R g, double *R h, int64_t row, Box b, double r)
{
    const int64_t l = b.l, p = b.m * b.l;
    const double *R c = u + row, *R up = c - p, *R down = c + p, *R north = c - l, *R south = c + l;
    const double *R d = g + row, *R dup = d - p, *R ddown = d + p, *R dnorth = d - l, *R dsouth = d + l;
    double *R out = h + row, sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t k = 1; k < l - 1; k++) {
        out[k] = d[k] + r * (dup[k] + ddown[k] + dnorth[k] + dsouth[k] + d[k - 1] + d[k + 1] - 6.0 * d[k]);
        sum += d[k] * (up[k] + down[k] + north[k] + south[k] + c[k - 1] + c[k + 1] - 6.0 * c[k]);
    }
    return sum;
}

static inline int on_rim(int64_t i, int64_t j, Box b) { return i == 0 || j == 0 || i == b.n - 1 || j == b.m - 1; }

static void copy_rim(const double *R u, double *R v, Box b)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b.n; i++)
        for (int64_t j = 0; j < b.m; j++) {
            int64_t row = (i * b.m + j) * b.l;
            if (on_rim(i, j, b))
                memcpy(v + row, u + row, b.l * sizeof(double));
            else
                v[row] = u[row], v[row + b.l - 1] = u[row + b.l - 1];
        }
}

static void clear_rim(double *R u, Box b)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b.n; i++)
        for (int64_t j = 0; j < b.m; j++) {
            int64_t row = (i * b.m + j) * b.l;
            if (on_rim(i, j, b))
                clear(u + row, b.l);
            else
                u[row] = u[row + b.l - 1] = 0;
        }
}

/* What one row of the adjoint gives to the faces: i low and high (m x l), j low and high (n x l), k low and high (n x m).
   No two rows share an element. */
static inline void row_to_faces(const double *R g, double *const *face, int64_t i, int64_t j, Box b, double r)
{
    const double *d = g + (i * b.m + j) * b.l;
    double *targets[4] = {i == 1 ? face[0] + j * b.l : NULL, i == b.n - 2 ? face[1] + j * b.l : NULL,
                          j == 1 ? face[2] + i * b.l : NULL, j == b.m - 2 ? face[3] + i * b.l : NULL};
    for (int f = 0; f < 4; f++)
        if (targets[f])
            for (int64_t k = 1; k < b.l - 1; k++)
                targets[f][k] += r * d[k];
    face[4][i * b.m + j] += r * d[1];
    face[5][i * b.m + j] += r * d[b.l - 2];
}

/* The rim of `bar` is that of the residual and the faces. */
static void put_rim(double *R bar, const double *R u, const double *R target, double *const *face, Box b)
{
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < b.n; i++)
        for (int64_t j = 0; j < b.m; j++) {
            int64_t row = (i * b.m + j) * b.l;
            double *x = bar + row;
            if (on_rim(i, j, b)) {
                for (int64_t k = 0; k < b.l; k++)
                    x[k] = u[row + k] - target[row + k];
                int inner_i = i > 0 && i < b.n - 1, inner_j = j > 0 && j < b.m - 1;
                for (int64_t k = 1; k < b.l - 1; k++) {
                    if (inner_j)
                        x[k] += i == 0 ? face[0][j * b.l + k] : face[1][j * b.l + k];
                    if (inner_i)
                        x[k] += j == 0 ? face[2][i * b.l + k] : face[3][i * b.l + k];
                }
            } else {
                x[0] = u[row] - target[row] + face[4][i * b.m + j];
                x[b.l - 1] = u[row + b.l - 1] - target[row + b.l - 1] + face[5][i * b.m + j];
            }
        }
}

double primal(const double *u0, double r, const double *target, int64_t steps, int64_t n, int64_t m, int64_t l)
{
    Box b = {n, m, l};
    double *u[2] = {buffer(0, points(b)), buffer(1, points(b))};
    copy_rim(u0, u[0], b), copy_rim(u0, u[1], b);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *from = t ? u[t % 2] : u0;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++)
                step_row(from, u[(t + 1) % 2], (i * m + j) * l, b, r);
    }
    const double *last = steps ? u[steps % 2] : u0;
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (size_t k = 0; k < points(b); k++)
        sum += (last[k] - target[k]) * (last[k] - target[k]);
    return 0.5 * sum;
}

double gradient(const double *u0, double r, const double *target, int64_t steps, double *bar, double *r_bar, int64_t n,
                int64_t m, int64_t l)
{
    Box b = {n, m, l};
    size_t all = points(b);
    int64_t length = (int64_t)ceil(sqrt((double)steps)), segments = length ? (steps + length - 1) / length : 0;
    double *kept = buffer(2, (segments + 1) * all), *inner = buffer(3, (length + 1) * all);
    double *g[2] = {buffer(4, all), buffer(5, all)}, *face[6];
    const size_t sizes[6] = {m * l, m * l, n * l, n * l, n * m, n * m};
    for (int f = 0; f < 6; f++) {
        face[f] = buffer(6 + f, sizes[f]);
        clear(face[f], sizes[f]);
    }
    for (int64_t s = 0; s <= segments; s++)
        copy_rim(u0, kept + s * all, b);
    for (int64_t s = 0; s <= length; s++)
        copy_rim(u0, inner + s * all, b);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        int64_t s = t / length, q = t % length;
        const double *from = t == 0 ? u0 : q ? inner + q * all : kept + s * all;
        double *to = q + 1 == length || t + 1 == steps ? kept + (s + 1) * all : inner + (q + 1) * all;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            for (int64_t j = 1; j < m - 1; j++)
                step_row(from, to, (i * m + j) * l, b, r);
    }
    const double *last = steps ? kept + segments * all : u0;
    double *p = g[0], value = 0, by_r = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : value)
    for (size_t k = 0; k < all; k++) {
        double d = last[k] - target[k];
        p[k] = d;
        value += d * d;
    }
    clear_rim(g[0], b), clear_rim(g[1], b);
#pragma omp parallel reduction(+ : by_r)
    for (int64_t s = segments - 1; s >= 0; s--) {
        int64_t first = s * length, count = steps - first < length ? steps - first : length;
        const double *start = s ? kept + s * all : u0;
        for (int64_t q = 0; q < count - 1; q++) {
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++)
                for (int64_t j = 1; j < m - 1; j++)
                    step_row(q ? inner + q * all : start, inner + (q + 1) * all, (i * m + j) * l, b, r);
        }
        for (int64_t q = count - 1; q >= 0; q--) {
            int64_t done = steps - 1 - first - q;
            const double *from = g[done % 2], *state = q ? inner + q * all : start;
            double *to = done == steps - 1 ? bar : g[(done + 1) % 2];
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++)
                for (int64_t j = 1; j < m - 1; j++) {
                    by_r += back_row(state, from, to, (i * m + j) * l, b, r);
                    row_to_faces(from, face, i, j, b, r);
                }
        }
    }
    if (steps == 0)
        memcpy(bar, g[0], all * sizeof(double));
    put_rim(bar, last, target, face, b);
    *r_bar = by_r;
    return 0.5 * value;
}
