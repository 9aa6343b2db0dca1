/* Burgers' equations for u and v on n x m points, upwind for positive velocities, `steps` explicit steps; half the squared
   distance from targets. c is the step of time over that of space, k the diffusion number.

   The adjoint of a step is gathered: what a point gets from its neighbours costs a multiplication or two more, and rows
   vectorise as they do forward. Its rim is summed beside (rim.h). The trajectory is not kept but for snapshots; the segment
   between two of them is run again into buffers that stay in cache. */
#include "rim.h"

typedef struct {
    int64_t n, m, steps;
    double c, k;
} Grid;

static inline void step_row(const double *R u, const double *R v, double *R un, double *R vn, int64_t i, Grid g)
{
    const double *R a = u + i * g.m, *R au = a - g.m, *R ad = a + g.m;
    const double *R b = v + i * g.m, *R bu = b - g.m, *R bd = b + g.m;
    double *R p = un + i * g.m, *R q = vn + i * g.m;
#pragma omp simd
    for (int64_t j = 1; j < g.m - 1; j++) {
        p[j] = a[j] - g.c * a[j] * (a[j] - au[j]) - g.c * b[j] * (a[j] - a[j - 1])
               + g.k * (au[j] + ad[j] + a[j - 1] + a[j + 1] - 4.0 * a[j]);
        q[j] = b[j] - g.c * a[j] * (b[j] - bu[j]) - g.c * b[j] * (b[j] - b[j - 1])
               + g.k * (bu[j] + bd[j] + b[j - 1] + b[j + 1] - 4.0 * b[j]);
    }
}

/* ub, vb before the step of row i, from p, q after it; u, v are the state before it. */
static inline void back_row(const double *R u, const double *R v, const double *R p, const double *R q, double *R ub,
                            double *R vb, int64_t i, Grid g)
{
    const int64_t m = g.m;
    const double *R a = u + i * m, *R au = a - m, *R ad = a + m, *R b = v + i * m, *R bu = b - m;
    const double *R x = p + i * m, *R xu = x - m, *R xd = x + m, *R y = q + i * m, *R yu = y - m, *R yd = y + m;
    double *R s = ub + i * m, *R t = vb + i * m;
    const double c = g.c, k = g.k;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++) {
        double down = c * ad[j] + k, right = c * b[j + 1] + k; /* the coefficients of the upwind neighbours */
        s[j] = x[j] * (1.0 - c * (2.0 * a[j] - au[j]) - c * b[j] - 4.0 * k) - y[j] * c * (b[j] - bu[j]) + xd[j] * down
               + x[j + 1] * right + k * (xu[j] + x[j - 1]);
        t[j] = y[j] * (1.0 - c * a[j] - c * (2.0 * b[j] - b[j - 1]) - 4.0 * k) - x[j] * c * (a[j] - a[j - 1])
               + yd[j] * down + y[j + 1] * right + k * (yu[j] + y[j - 1]);
    }
}

/* What row i of the adjoint p of one field gives to the rim of that field. */
static inline void row_to_rim(const double *R u, const double *R v, const double *R p, double *R edge, int64_t i, Grid g)
{
    const int64_t n = g.n, m = g.m;
    const double *a = u + i * m, *b = v + i * m, *x = p + i * m;
    if (i == 1)
        for (int64_t j = 1; j < m - 1; j++)
            edge[j] += x[j] * (g.c * a[j] + g.k);
    if (i == n - 2)
        for (int64_t j = 1; j < m - 1; j++)
            edge[m + j] += x[j] * g.k;
    edge[2 * m + i] += x[1] * (g.c * b[1] + g.k);
    edge[2 * m + n + i] += x[m - 2] * g.k;
}

static double distance(const double *R u, const double *R target, double *R bar, int64_t count)
{
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < count; i++) {
        double d = u[i] - target[i];
        bar[i] = d;
        sum += d * d;
    }
    return 0.5 * sum;
}

double primal(const double *u0, const double *v0, double c, double k, const double *ut, const double *vt, int64_t steps,
              int64_t n, int64_t m)
{
    Grid g = {n, m, steps, c, k};
    double *u[2], *v[2];
    for (int s = 0; s < 2; s++) {
        u[s] = buffer(s, n * m), v[s] = buffer(2 + s, n * m);
        copy_rim(u0, u[s], n, m);
        copy_rim(v0, v[s], n, m);
    }
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        const double *uf = t ? u[t % 2] : u0, *vf = t ? v[t % 2] : v0;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            step_row(uf, vf, u[(t + 1) % 2], v[(t + 1) % 2], i, g);
    }
    const double *ul = steps ? u[steps % 2] : u0, *vl = steps ? v[steps % 2] : v0;
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int64_t i = 0; i < n * m; i++)
        sum += (ul[i] - ut[i]) * (ul[i] - ut[i]) + (vl[i] - vt[i]) * (vl[i] - vt[i]);
    return 0.5 * sum;
}

double gradient(const double *u0, const double *v0, double c, double k, const double *ut, const double *vt, int64_t steps,
                double *ubar, double *vbar, int64_t n, int64_t m)
{
    Grid g = {n, m, steps, c, k};
    int64_t plane = n * m, length = (int64_t)ceil(sqrt((double)steps));
    int64_t fit = (int64_t)omp_get_max_threads() * (1 << 20) / (2 * plane * (int64_t)sizeof(double));
    length = fit >= 4 && fit < length ? fit : length;
    int64_t segments = length ? (steps + length - 1) / length : 0;
    double *uk = buffer(4, (segments + 1) * plane), *vk = buffer(5, (segments + 1) * plane);
    double *ui = buffer(6, (length + 1) * plane), *vi = buffer(7, (length + 1) * plane);
    double *p[2] = {buffer(8, plane), buffer(9, plane)}, *q[2] = {buffer(10, plane), buffer(11, plane)};
    double *ue = buffer(12, 2 * (n + m)), *ve = buffer(13, 2 * (n + m));
    for (int64_t s = 0; s <= segments; s++)
        copy_rim(u0, uk + s * plane, n, m), copy_rim(v0, vk + s * plane, n, m);
    for (int64_t s = 0; s <= length; s++)
        copy_rim(u0, ui + s * plane, n, m), copy_rim(v0, vi + s * plane, n, m);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        int64_t s = t / length, r = t % length;
        const double *uf = t == 0 ? u0 : r ? ui + r * plane : uk + s * plane;
        const double *vf = t == 0 ? v0 : r ? vi + r * plane : vk + s * plane;
        int ends = r + 1 == length || t + 1 == steps;
        double *un = ends ? uk + (s + 1) * plane : ui + (r + 1) * plane;
        double *vn = ends ? vk + (s + 1) * plane : vi + (r + 1) * plane;
#pragma omp for schedule(static)
        for (int64_t i = 1; i < n - 1; i++)
            step_row(uf, vf, un, vn, i, g);
    }
    double value = distance(steps ? uk + segments * plane : u0, ut, p[0], plane)
                   + distance(steps ? vk + segments * plane : v0, vt, q[0], plane);
    take_rim(p[0], ue, n, m), take_rim(q[0], ve, n, m);
    copy_rim(p[0], p[1], n, m), copy_rim(q[0], q[1], n, m);
#pragma omp parallel
    for (int64_t s = segments - 1; s >= 0; s--) {
        int64_t first = s * length, count = steps - first < length ? steps - first : length;
        const double *us = s ? uk + s * plane : u0, *vs = s ? vk + s * plane : v0;
        for (int64_t r = 0; r < count - 1; r++) {
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++)
                step_row(r ? ui + r * plane : us, r ? vi + r * plane : vs, ui + (r + 1) * plane, vi + (r + 1) * plane, i,
                         g);
        }
        for (int64_t r = count - 1; r >= 0; r--) {
            const double *u = r ? ui + r * plane : us, *v = r ? vi + r * plane : vs;
            int64_t f = (steps - 1 - first - r) % 2;
#pragma omp for schedule(static)
            for (int64_t i = 1; i < n - 1; i++) {
                back_row(u, v, p[f], q[f], p[1 - f], q[1 - f], i, g);
                row_to_rim(u, v, p[f], ue, i, g);
                row_to_rim(u, v, q[f], ve, i, g);
            }
        }
    }
    memcpy(ubar, p[steps % 2], plane * sizeof(double));
    memcpy(vbar, q[steps % 2], plane * sizeof(double));
    put_rim(ubar, ue, n, m), put_rim(vbar, ve, n, m);
    return value;
}
