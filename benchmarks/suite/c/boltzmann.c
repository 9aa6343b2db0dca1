/* A lattice-Boltzmann method: nine populations on n x m periodic points with solid ones that bounce them back; half the
   squared distance from a target after some steps, and its gradient by the first populations and the relaxation rate.

   Populations are pulled: a row of each comes shifted into a buffer, and all nine are relaxed in one vector loop. Each step
   writes a new state, so that keeping them all costs nothing but their room. The adjoint goes the other way: relaxed in
   buffers, then pushed to where the population came from, which is one place for each. */
#include "common.h"

enum { Q = 9, MOST = 2048 };

static const int CX[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, CY[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const int OPPOSITE[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
#define W0 (4.0 / 9.0)
#define W1 (1.0 / 9.0)
#define W2 (1.0 / 36.0)
static const double W[Q] = {W0, W1, W1, W1, W1, W2, W2, W2, W2};

typedef double Row[MOST];

static inline int64_t wrapped(int64_t i, int64_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }

/* Row i of each population as it arrives there. */
static inline void pull(const double *R f, Row *R in, int64_t i, int64_t n, int64_t m)
{
    for (int q = 0; q < Q; q++) {
        const double *row = f + (q * n + wrapped(i - CX[q], n)) * m;
        if (CY[q] == 0) {
            memcpy(in[q], row, m * sizeof(double));
        } else if (CY[q] > 0) {
            memcpy(in[q] + 1, row, (m - 1) * sizeof(double));
            in[q][0] = row[m - 1];
        } else {
            memcpy(in[q], row + 1, (m - 1) * sizeof(double));
            in[q][m - 1] = row[0];
        }
    }
}

/* The reverse: each row goes back to where it came from. */
static inline void push(double *R f, const Row *R out, int64_t i, int64_t n, int64_t m)
{
    for (int q = 0; q < Q; q++) {
        double *row = f + (q * n + wrapped(i - CX[q], n)) * m;
        if (CY[q] == 0) {
            memcpy(row, out[q], m * sizeof(double));
        } else if (CY[q] > 0) {
            memcpy(row, out[q] + 1, (m - 1) * sizeof(double));
            row[m - 1] = out[q][0];
        } else {
            memcpy(row + 1, out[q], (m - 1) * sizeof(double));
            row[0] = out[q][m - 1];
        }
    }
}

static void step_row(const double *R f, double *R g, const uint8_t *R solid, double omega, int64_t i, int64_t n, int64_t m)
{
    Row in[Q];
    pull(f, in, i, n, m);
    const uint8_t *R wall = solid + i * m;
    double *R rows = g + i * m;
    const int64_t plane = n * m;
#pragma omp simd
    for (int64_t j = 0; j < m; j++) {
        double p[Q], rho = 0, x = 0, y = 0;
#pragma GCC unroll 9
        for (int q = 0; q < Q; q++)
            p[q] = in[q][j], rho += p[q], x += CX[q] * p[q], y += CY[q] * p[q];
        double inverse = 1 / rho, u = x * inverse, v = y * inverse, square = 1.0 - 1.5 * (u * u + v * v);
#pragma GCC unroll 9
        for (int q = 0; q < Q; q++) {
            double along = CX[q] * u + CY[q] * v;
            double balance = W[q] * rho * (square + 3.0 * along + 4.5 * along * along);
            double relaxed = p[q] + omega * (balance - p[q]);
            rows[q * plane + j] = wall[j] ? p[OPPOSITE[q]] : relaxed;
        }
    }
}

/* The bars of the populations before the step of row i go to `back`, from those after it; the derivative by omega is
   returned. */
static double back_row(const double *R f, const double *R after, double *R back, const uint8_t *R solid, double omega,
                       int64_t i, int64_t n, int64_t m)
{
    Row in[Q], out[Q];
    pull(f, in, i, n, m);
    const uint8_t *R wall = solid + i * m;
    const double *R rows = after + i * m;
    const int64_t plane = n * m;
    double by_omega = 0;
#pragma omp simd reduction(+ : by_omega)
    for (int64_t j = 0; j < m; j++) {
        double p[Q], b[Q], rho = 0, x = 0, y = 0;
#pragma GCC unroll 9
        for (int q = 0; q < Q; q++) {
            p[q] = in[q][j], b[q] = rows[q * plane + j];
            rho += p[q], x += CX[q] * p[q], y += CY[q] * p[q];
        }
        double inverse = 1 / rho, u = x * inverse, v = y * inverse, square = 1.0 - 1.5 * (u * u + v * v);
        double rho_bar = 0, u_bar = 0, v_bar = 0, change = 0;
#pragma GCC unroll 9
        for (int q = 0; q < Q; q++) {
            double along = CX[q] * u + CY[q] * v, shape = W[q] * (square + 3.0 * along + 4.5 * along * along);
            double bar = omega * b[q], weight = bar * W[q] * rho;
            change += b[q] * (shape * rho - p[q]);
            rho_bar += bar * shape;
            u_bar += weight * ((3.0 + 9.0 * along) * CX[q] - 3.0 * u);
            v_bar += weight * ((3.0 + 9.0 * along) * CY[q] - 3.0 * v);
        }
        double x_bar = u_bar * inverse, y_bar = v_bar * inverse;
        rho_bar -= x_bar * u + y_bar * v;
        by_omega += wall[j] ? 0.0 : change;
#pragma GCC unroll 9
        for (int q = 0; q < Q; q++)
            out[q][j] = wall[j] ? b[OPPOSITE[q]] : (1.0 - omega) * b[q] + rho_bar + CX[q] * x_bar + CY[q] * y_bar;
    }
    push(back, out, i, n, m);
    return by_omega;
}

static double distance(const double *R f, const double *R target, double *R bar, int64_t count)
{
    double sum = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
    for (int64_t k = 0; k < count; k++) {
        double d = f[k] - target[k];
        if (bar)
            bar[k] = d;
        sum += d * d;
    }
    return 0.5 * sum;
}

double primal(const double *f0, double omega, const double *target, const uint8_t *solid, int64_t steps, int64_t n, int64_t m)
{
    if (m > MOST)
        abort();
    double *f[2] = {buffer(0, Q * n * m), buffer(1, Q * n * m)};
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            step_row(t ? f[t % 2] : f0, f[(t + 1) % 2], solid, omega, i, n, m);
    }
    return distance(steps ? f[steps % 2] : f0, target, NULL, Q * n * m);
}

double gradient(const double *f0, double omega, const double *target, const uint8_t *solid, int64_t steps, double *bar,
                double *omega_bar, int64_t n, int64_t m)
{
    if (m > MOST)
        abort();
    const size_t state = (size_t)(Q * n * m);
    double *kept = buffer(2, state * (steps + 1)), *b[2] = {buffer(3, state), buffer(4, state)}, by_omega = 0;
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            step_row(t ? kept + t * state : f0, kept + (t + 1) * state, solid, omega, i, n, m);
    }
    double value = distance(steps ? kept + steps * state : f0, target, steps ? b[0] : bar, state);
#pragma omp parallel reduction(+ : by_omega)
    for (int64_t t = steps - 1; t >= 0; t--) {
        int64_t done = steps - 1 - t;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++)
            by_omega += back_row(t ? kept + t * state : f0, b[done % 2], t ? b[(done + 1) % 2] : bar, solid, omega, i, n, m);
    }
    *omega_bar = by_omega;
    return value;
}
