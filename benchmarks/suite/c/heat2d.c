/* An explicit step of the heat equation, n x m, `steps` times; half the squared distance from a target.

   The rim of the plate stays as it was; each of its points has one neighbour inside. */
#include "rim.h"

static inline void step_row(const double *R u, double *R v, int64_t i, int64_t m, double r)
{
    const double *R c = u + i * m, *R up = c - m, *R down = c + m;
    double *R out = v + i * m;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++)
        out[j] = c[j] + r * (up[j] + down[j] + c[j - 1] + c[j + 1] - 4.0 * c[j]);
}

/* The last state, in one of two buffers. */
static const double *run(const double *u0, double r, int64_t steps, int64_t n, int64_t m)
{
    double *a = buffer(0, n * m), *b = buffer(1, n * m);
    copy_rim(u0, a, n, m);
    copy_rim(u0, b, n, m);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *from = t == 0 ? u0 : t % 2 ? a : b;
        double *to = t % 2 ? b : a;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            step_row(from, to, i, m, r);
    }
    return steps == 0 ? u0 : steps % 2 ? a : b;
}

/* Half the squared distance; the residual goes to `bar`, if there is one. */
static double misfit(const double *R u, const double *R target, double *R bar, int64_t count)
{
    double sum = 0;
    if (bar) {
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
        for (int64_t k = 0; k < count; k++) {
            double d = u[k] - target[k];
            bar[k] = d;
            sum += d * d;
        }
    } else {
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
        for (int64_t k = 0; k < count; k++) {
            double d = u[k] - target[k];
            sum += d * d;
        }
    }
    return 0.5 * sum;
}

double primal(const double *u0, double r, const double *target, int64_t steps, int64_t n, int64_t m)
{
    return misfit(run(u0, r, steps, n, m), target, NULL, n * m);
}

/* What one row of the adjoint gives to the rim. */
static inline void row_to_rim(const double *R p, double *R edge, int64_t i, int64_t n, int64_t m, double r)
{
    const double *c = p + i * m;
    if (i == 1)
        for (int64_t j = 1; j < m - 1; j++)
            edge[j] += r * c[j];
    if (i == n - 2)
        for (int64_t j = 1; j < m - 1; j++)
            edge[m + j] += r * c[j];
    edge[2 * m + i] += r * c[1];
    edge[2 * m + n + i] += r * c[m - 2];
}

/* By the initial state alone: the step is linear and symmetric, so its adjoint is itself, and nothing is stored. */
double gradient_state(const double *u0, double r, const double *target, int64_t steps, double *bar, int64_t n, int64_t m)
{
    double *p = buffer(2, n * m), *q = buffer(3, n * m), *edge = buffer(4, 2 * (n + m));
    double value = misfit(run(u0, r, steps, n, m), target, p, n * m);
    take_rim(p, edge, n, m);
    copy_rim(p, q, n, m);
    copy_rim(p, bar, n, m);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *from = t % 2 ? q : p;
        double *to = t == steps - 1 ? bar : t % 2 ? p : q;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++) {
            step_row(from, to, i, m, r);
            row_to_rim(from, edge, i, n, m, r);
        }
    }
    if (steps == 0)
        memcpy(bar, p, n * m * sizeof(double));
    put_rim(bar, edge, n, m);
    return value;
}

/* The segment of steps between two snapshots: their states fit into the second-level cache of the threads. */
static int64_t segment_length(int64_t steps, int64_t plane)
{
    int64_t fit = (int64_t)omp_get_max_threads() * (1 << 20) / (plane * (int64_t)sizeof(double));
    int64_t most = (int64_t)ceil(sqrt((double)steps));
    return fit < 4 ? (most < 5 ? most : 5) : fit < most ? fit : most;
}

static inline double step_back_row(const double *R u, const double *R p, double *R q, int64_t i, int64_t m, double r)
{
    const double *R c = u + i * m, *R up = c - m, *R down = c + m;
    const double *R g = p + i * m, *R gup = g - m, *R gdown = g + m;
    double *R out = q + i * m, sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 1; j < m - 1; j++) {
        out[j] = g[j] + r * (gup[j] + gdown[j] + g[j - 1] + g[j + 1] - 4.0 * g[j]);
        sum += g[j] * (up[j] + down[j] + c[j - 1] + c[j + 1] - 4.0 * c[j]);
    }
    return sum;
}

/* By the initial state and the coefficient: snapshots, and between them steps that are run again. */
double gradient(const double *u0, double r, const double *target, int64_t steps, double *bar, double *r_bar, int64_t n,
                int64_t m)
{
    int64_t plane = n * m, length = segment_length(steps, plane), segments = length ? (steps + length - 1) / length : 0;
    double *kept = buffer(5, (segments + 1) * plane), *inner = buffer(6, (length + 1) * plane);
    double *p = buffer(2, plane), *q = buffer(3, plane), *edge = buffer(4, 2 * (n + m));
    for (int64_t s = 0; s <= segments; s++)
        copy_rim(u0, kept + s * plane, n, m);
    for (int64_t s = 0; s <= length; s++)
        copy_rim(u0, inner + s * plane, n, m);
    const double *last = u0;
    /* Forward: the state before each segment is kept. The steps inside go through the cached buffers. */
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        int64_t s = t / length, k = t % length;
        const double *from = t == 0 ? u0 : k ? inner + k * plane : kept + s * plane;
        double *to = k + 1 == length || t + 1 == steps ? kept + (s + 1) * plane : inner + (k + 1) * plane;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            step_row(from, to, i, m, r);
    }
    if (steps)
        last = kept + segments * plane;
    double value = misfit(last, target, p, plane), by_r = 0;
    take_rim(p, edge, n, m);
    copy_rim(p, q, n, m);
#pragma omp parallel reduction(+ : by_r)
    for (int64_t s = segments - 1; s >= 0; s--) {
        int64_t first = s * length, count = steps - first < length ? steps - first : length;
        const double *start = s ? kept + s * plane : u0;
        for (int64_t k = 0; k < count - 1; k++) {
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++)
                step_row(k ? inner + k * plane : start, inner + (k + 1) * plane, i, m, r);
        }
        for (int64_t k = count - 1; k >= 0; k--) {
            int64_t done = steps - 1 - first - k;
            const double *from = done % 2 ? q : p;
            double *to = done % 2 ? p : q;
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++) {
                by_r += step_back_row(k ? inner + k * plane : start, from, to, i, m, r);
                row_to_rim(from, edge, i, n, m, r);
            }
        }
    }
    memcpy(bar, steps % 2 ? q : p, plane * sizeof(double));
    put_rim(bar, edge, n, m);
    *r_bar = by_r;
    return value;
}

/* The same, the one coefficient done in forward mode beside the adjoint: no state is stored or run again. */
double gradient_tangent(const double *u0, double r, const double *target, int64_t steps, double *bar, double *r_bar,
                        int64_t n, int64_t m)
{
    int64_t plane = n * m;
    double *a = buffer(0, plane), *b = buffer(1, plane), *da = buffer(7, plane), *db = buffer(8, plane);
    double *p = buffer(2, plane), *q = buffer(3, plane), *edge = buffer(4, 2 * (n + m));
    copy_rim(u0, a, n, m);
    copy_rim(u0, b, n, m);
    clear(da, plane);
    clear(db, plane);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *from = t == 0 ? u0 : t % 2 ? a : b, *dfrom = t % 2 ? da : db;
        double *to = t % 2 ? b : a, *dto = t % 2 ? db : da;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++) {
            const double *R c = from + i * m, *R up = c - m, *R down = c + m;
            const double *R d = dfrom + i * m, *R dup = d - m, *R ddown = d + m;
            double *R out = to + i * m, *R dout = dto + i * m;
#pragma omp simd
            for (int64_t j = 1; j < m - 1; j++) {
                double flow = up[j] + down[j] + c[j - 1] + c[j + 1] - 4.0 * c[j];
                out[j] = c[j] + r * flow;
                dout[j] = d[j] + r * (dup[j] + ddown[j] + d[j - 1] + d[j + 1] - 4.0 * d[j]) + flow;
            }
        }
    }
    const double *last = steps == 0 ? u0 : steps % 2 ? a : b, *dlast = steps % 2 ? da : db;
    double value = misfit(last, target, p, plane), by_r = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : by_r)
    for (int64_t k = 0; k < plane; k++)
        by_r += p[k] * dlast[k];
    *r_bar = by_r;
    take_rim(p, edge, n, m);
    copy_rim(p, q, n, m);
    copy_rim(p, bar, n, m);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *from = t % 2 ? q : p;
        double *to = t == steps - 1 ? bar : t % 2 ? p : q;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++) {
            step_row(from, to, i, m, r);
            row_to_rim(from, edge, i, n, m, r);
        }
    }
    if (steps == 0)
        memcpy(bar, p, plane * sizeof(double));
    put_rim(bar, edge, n, m);
    return value;
}
