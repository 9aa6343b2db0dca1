/* The acoustic wave equation, second order in time and fourth in space, with a source and a row of receivers; its gradient
   by the squared Courant numbers m and by the source.

   Nothing is stored: a leapfrog step can be run backwards, so the reverse sweep computes the states again, last first. The
   adjoint is a leapfrog too, of w = m times the adjoint field; both share one pass over the rows. */
#include "common.h"

enum { RADIUS = 2 };

typedef struct {
    int64_t n, m, depth, row, column;
} Setting;

#define LAPLACIAN(c, j, m)                                                                                                \
    (-5.0 * (c)[j] + (4.0 / 3.0) * ((c)[(j) - (m)] + (c)[(j) + (m)] + (c)[(j) - 1] + (c)[(j) + 1])                         \
     - (1.0 / 12.0) * ((c)[(j) - 2 * (m)] + (c)[(j) + 2 * (m)] + (c)[(j) - 2] + (c)[(j) + 2]))

static inline void step_row(const double *R speed, const double *R u, double *R p, int64_t i, int64_t m)
{
    const double *R c = u + i * m, *R s = speed + i * m;
    double *R out = p + i * m;
#pragma omp simd
    for (int64_t j = RADIUS; j < m - RADIUS; j++)
        out[j] = 2.0 * c[j] - out[j] + s[j] * LAPLACIAN(c, j, m);
}

/* Runs the equation. u[0] is the field at the end, u[1] the one before. Residuals are stored if there is room for them. */
static double run(const double *speed, const double *source, const int64_t *at, const double *data, int64_t steps,
                  int64_t count, Setting g, double **u, double *residual)
{
    double loss = 0, *fields[2] = {u[0], u[1]};
    clear(u[0], g.n * g.m);
    clear(u[1], g.n * g.m);
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
        double *now = fields[t % 2], *next = fields[(t + 1) % 2];
#pragma omp for schedule(static)
        for (int64_t i = RADIUS; i < g.n - RADIUS; i++)
            step_row(speed, now, next, i, g.m);
#pragma omp single
        {
            next[g.row * g.m + g.column] += source[t];
            for (int64_t k = 0; k < count; k++) {
                double d = next[g.depth * g.m + at[k]] - data[t * count + k];
                loss += 0.5 * d * d;
                if (residual)
                    residual[t * count + k] = d;
            }
        }
    }
    u[0] = fields[steps % 2], u[1] = fields[(steps + 1) % 2];
    return loss;
}

double primal(const double *speed, const double *source, const int64_t *at, const double *data, int64_t steps,
              int64_t count, int64_t n, int64_t m)
{
    Setting g = {n, m, RADIUS + 1, n / 2, m / 2};
    double *u[2] = {buffer(0, n * m), buffer(1, n * m)};
    return run(speed, source, at, data, steps, count, g, u, NULL);
}

static inline void back_row(const double *R speed, const double *R u, double *R later, const double *R a, double *R before,
                            const double *R w, double *R w_before, double *R bar, int64_t i, int64_t m)
{
    const int64_t row = i * m;
    const double *R c = u + row, *R s = speed + row, *R x = a + row, *R y = w + row;
    double *R old = later + row, *R out = before + row, *R scaled = w_before + row, *R sum = bar + row;
#pragma omp simd
    for (int64_t j = RADIUS; j < m - RADIUS; j++) {
        double laplacian = LAPLACIAN(c, j, m);
        old[j] = 2.0 * c[j] - old[j] + s[j] * laplacian;
        sum[j] += x[j] * laplacian;
        double next = 2.0 * x[j] - out[j] + LAPLACIAN(y, j, m);
        out[j] = next;
        scaled[j] = s[j] * next;
    }
}

double gradient(const double *speed, const double *source, const int64_t *at, const double *data, int64_t steps,
                int64_t count, double *bar, double *source_bar, int64_t n, int64_t m)
{
    Setting g = {n, m, RADIUS + 1, n / 2, m / 2};
    double *u[2] = {buffer(0, n * m), buffer(1, n * m)}, *residual = buffer(2, steps * count + 1);
    double loss = run(speed, source, at, data, steps, count, g, u, residual);
    double *a[2] = {buffer(3, n * m), buffer(4, n * m)}, *w[2] = {buffer(5, n * m), buffer(6, n * m)};
    for (int f = 0; f < 2; f++)
        clear(a[f], n * m), clear(w[f], n * m);
    clear(bar, n * m);
    const int64_t place = g.row * m + g.column;
#pragma omp parallel
    for (int64_t t = steps - 1; t >= 0; t--) {
        int f = (int)((steps - 1 - t) % 2);
#pragma omp single
        {
            for (int64_t k = 0; k < count; k++) {
                int64_t point = g.depth * m + at[k];
                a[f][point] += residual[t * count + k];
                w[f][point] = speed[point] * a[f][point];
            }
            source_bar[t] = a[f][place];
            u[f][place] -= source[t];
        }
#pragma omp for schedule(static)
        for (int64_t i = RADIUS; i < n - RADIUS; i++)
            back_row(speed, u[1 - f], u[f], a[f], a[1 - f], w[f], w[1 - f], bar, i, m);
    }
    return loss;
}
