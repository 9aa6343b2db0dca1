/* The shallow-water equations on n x m points: slopes limited by minmod, Rusanov's flux between limited face values, one
   explicit step at a time; half the squared distance of the depth from a target, and its gradient by the first state.

   A state is three planes: depth and two momenta. All states are kept (a step is dear beside storing it). The adjoint of a
   step is four passes over rows, each of which writes what its own points give and gathers what the one before it left; no
   two rows write one element. */
#include "common.h"

#define GRAVITY 9.81

typedef struct {
    double h, q, t; /* depth, momentum across a face, momentum along it */
} State;

typedef struct {
    State left, right;
} Pair;

static inline double minmod(double a, double b)
{
    double smaller = fabs(a) < fabs(b) ? a : b;
    return a * b <= 0 ? 0.0 : smaller;
}

static inline State flux(State l, State r)
{
    double u = l.q / l.h, v = r.q / r.h;
    double speed = fmax(fabs(u) + sqrt(GRAVITY * l.h), fabs(v) + sqrt(GRAVITY * r.h));
    return (State){0.5 * (l.q + r.q) - 0.5 * speed * (r.h - l.h),
                   0.5 * (l.q * u + 0.5 * GRAVITY * l.h * l.h + r.q * v + 0.5 * GRAVITY * r.h * r.h)
                       - 0.5 * speed * (r.q - l.q),
                   0.5 * (l.t * u + r.t * v) - 0.5 * speed * (r.t - l.t)};
}

/* One side of the adjoint of the flux: `sign` is 1 for the left state, `bar_speed` what reaches the speed of this side. */
static inline State side(State s, State b, double u, double root, double speed, double sign, double bar_speed)
{
    double u_bar = 0.5 * (b.q * s.q + b.t * s.t) + bar_speed * (u > 0 ? 1.0 : u < 0 ? -1.0 : 0.0);
    double over = u_bar / s.h;
    return (State){0.5 * sign * speed * b.h + 0.5 * b.q * GRAVITY * s.h + bar_speed * 0.5 * GRAVITY / root - over * u,
                   0.5 * b.h + 0.5 * sign * speed * b.q + 0.5 * b.q * u + over, 0.5 * sign * speed * b.t + 0.5 * b.t * u};
}

static inline Pair flux_back(State l, State r, State b)
{
    double u = l.q / l.h, v = r.q / r.h, cl = sqrt(GRAVITY * l.h), cr = sqrt(GRAVITY * r.h);
    double sl = fabs(u) + cl, sr = fabs(v) + cr, speed = fmax(sl, sr);
    double bar = -0.5 * (b.h * (r.h - l.h) + b.q * (r.q - l.q) + b.t * (r.t - l.t));
    return (Pair){side(l, b, u, cl, speed, 1.0, sl >= sr ? bar : 0.0), side(r, b, v, cr, speed, -1.0, sl >= sr ? 0.0 : bar)};
}

typedef struct {
    int64_t n, m, plane;
    double c;
} Grid;

/* Slopes of row i of one plane, from row to row (sx) and along it (sy); zero at the rim. */
static inline void slopes_row(const double *R s, double *R sx, double *R sy, int64_t i, Grid g)
{
    const int64_t m = g.m, row = i * m;
    const double *R a = s + row;
    double *R x = sx + row, *R y = sy + row;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++) {
        x[j] = minmod(a[j] - a[j - m], a[j + m] - a[j]);
        y[j] = minmod(a[j] - a[j - 1], a[j + 1] - a[j]);
    }
}

/* The face values between point k and the point `next` elements further; q and t are the planes across and along. */
#define FACE_STATES(s, d, k, next, q, t, plane)                                                                             \
    State l = {(s)[k] + 0.5 * (d)[k], (s)[(q) * (plane) + (k)] + 0.5 * (d)[(q) * (plane) + (k)],                            \
               (s)[(t) * (plane) + (k)] + 0.5 * (d)[(t) * (plane) + (k)]};                                                  \
    State r = {(s)[(k) + (next)] - 0.5 * (d)[(k) + (next)],                                                                 \
               (s)[(q) * (plane) + (k) + (next)] - 0.5 * (d)[(q) * (plane) + (k) + (next)],                                 \
               (s)[(t) * (plane) + (k) + (next)] - 0.5 * (d)[(t) * (plane) + (k) + (next)]}

static inline void fluxes_row(const double *R s, const double *R d, double *R f, int64_t i, int64_t low, int64_t next, int q,
                              Grid g)
{
    const int t = 3 - q;
    const int64_t plane = g.plane, row = i * g.m;
#pragma omp simd
    for (int64_t k = row + low; k < row + g.m - 2; k++) {
        FACE_STATES(s, d, k, next, q, t, plane);
        State out = flux(l, r);
        f[k] = out.h, f[q * plane + k] = out.q, f[t * plane + k] = out.t;
    }
}

static void step(const double *s, double *to, double *const *work, Grid g)
{
    double *sx = work[0], *sy = work[1], *fx = work[2], *fy = work[3];
    const int64_t n = g.n, m = g.m;
#pragma omp for schedule(static)
    for (int64_t i = 1; i < n - 1; i++)
        for (int p = 0; p < 3; p++)
            slopes_row(s + p * g.plane, sx + p * g.plane, sy + p * g.plane, i, g);
#pragma omp for schedule(static)
    for (int64_t i = 1; i < n - 2; i++) {
        fluxes_row(s, sx, fx, i, 2, m, 1, g);
        if (i >= 2)
            fluxes_row(s, sy, fy, i, 1, 1, 2, g);
    }
#pragma omp for schedule(static)
    for (int64_t i = 2; i < n - 2; i++)
        for (int p = 0; p < 3; p++) {
            const int64_t row = p * g.plane + i * m;
            const double *R a = s + row, *R x = fx + row, *R y = fy + row;
            double *R out = to + row;
#pragma omp simd
            for (int64_t j = 2; j < m - 2; j++)
                out[j] = a[j] - g.c * (x[j] - x[j - m] + y[j] - y[j - 1]);
        }
}

static void run(const double *s0, double *kept, double *const *work, Grid g, int64_t steps, int64_t states)
{
    for (int64_t k = 0; k < states; k++)
        memcpy(kept + k * 3 * g.plane, s0, 3 * g.plane * sizeof(double));
#pragma omp parallel
    for (int64_t t = 0; t < steps; t++)
        step(kept + t % states * 3 * g.plane, kept + (t + 1) % states * 3 * g.plane, work, g);
}

static void workspace(double **work, int count, Grid g)
{
    for (int k = 0; k < count; k++) {
        work[k] = buffer(k, 3 * g.plane);
        clear(work[k], 3 * g.plane);
    }
}

static double distance(const double *R h, const double *R target, double *R bar, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        double d = h[k] - target[k];
        if (bar)
            bar[k] = d;
        sum += d * d;
    }
    return 0.5 * sum;
}

double primal(const double *s0, double c, const double *target, int64_t steps, int64_t n, int64_t m)
{
    Grid g = {n, m, n * m, c};
    double *work[4], *kept = buffer(10, 2 * 3 * g.plane);
    workspace(work, 4, g);
    run(s0, kept, work, g, steps, 2);
    return distance(kept + steps % 2 * 3 * g.plane, target, NULL, g.plane);
}

/* What the fluxes out of row i give to the states left (l) and right (r) of each face, in planes of their own. */
static inline void fluxes_back_row(const double *R s, const double *R d, const double *R bar, double *R lb, double *R rb,
                                   int64_t i, int64_t low, int64_t next, int q, Grid g)
{
    const int t = 3 - q;
    const int64_t plane = g.plane, m = g.m, row = i * m;
    /* Points that are stepped are those two from the rim; bars elsewhere do not come through fluxes. */
    const int here = i >= 2, there = next == 1 ? here : i + 1 < g.n - 2;
#pragma omp simd
    for (int64_t k = row + low; k < row + m - 2; k++) {
        int64_t j = k - row;
        double own = next == 1 ? (j >= 2 ? -g.c : 0.0) : here ? -g.c : 0.0;
        double other = next == 1 ? (j + 1 < m - 2 ? g.c : 0.0) : there ? g.c : 0.0;
        FACE_STATES(s, d, k, next, q, t, plane);
        State b = {own * bar[k] + other * bar[k + next], own * bar[q * plane + k] + other * bar[q * plane + k + next],
                   own * bar[t * plane + k] + other * bar[t * plane + k + next]};
        Pair p = flux_back(l, r, b);
        lb[k] = p.left.h, lb[q * plane + k] = p.left.q, lb[t * plane + k] = p.left.t;
        rb[k] = p.right.h, rb[q * plane + k] = p.right.q, rb[t * plane + k] = p.right.t;
    }
}

/* What the slopes of row i give to the differences on both sides. */
static inline void slopes_back_row(const double *R s, const double *R l, const double *R r, double *R below, double *R above,
                                   int64_t i, int64_t next, int64_t m)
{
    const int64_t row = i * m;
#pragma omp simd
    for (int64_t k = row + 1; k < row + m - 1; k++) {
        double a = s[k] - s[k - next], b = s[k + next] - s[k], bar = 0.5 * (l[k] - r[k - next]);
        int none = a * b <= 0, first = fabs(a) < fabs(b);
        below[k] = !none && first ? bar : 0.0;
        above[k] = !none && !first ? bar : 0.0;
    }
}

enum { SX, SY, LX, RX, LY, RY, AX, BX, AY, BY };

/* `bar`, after the step from state s, becomes the one before it. */
static void step_back(const double *s, double *bar, double *const *w, Grid g)
{
    const int64_t n = g.n, m = g.m, plane = g.plane;
#pragma omp for schedule(static)
    for (int64_t i = 1; i < n - 1; i++)
        for (int p = 0; p < 3; p++)
            slopes_row(s + p * plane, w[SX] + p * plane, w[SY] + p * plane, i, g);
#pragma omp for schedule(static)
    for (int64_t i = 1; i < n - 2; i++) {
        fluxes_back_row(s, w[SX], bar, w[LX], w[RX], i, 2, m, 1, g);
        if (i >= 2)
            fluxes_back_row(s, w[SY], bar, w[LY], w[RY], i, 1, 1, 2, g);
    }
#pragma omp for schedule(static)
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t p = 0; p < 3 * plane; p += plane) {
            slopes_back_row(s + p, w[LX] + p, w[RX] + p, w[AX] + p, w[BX] + p, i, m, m);
            slopes_back_row(s + p, w[LY] + p, w[RY] + p, w[AY] + p, w[BY] + p, i, 1, m);
        }
#pragma omp for schedule(static)
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < 3 * plane; p += plane) {
            const int64_t row = p + i * m;
            const double *R lx = w[LX], *R rx = w[RX], *R ly = w[LY], *R ry = w[RY];
            const double *R ax = w[AX], *R bx = w[BX], *R ay = w[AY], *R by = w[BY];
            /* Beyond the rim there is nothing; the planes next to it are zero there. */
            const int64_t up = i ? m : 0, down = i + 1 < n ? m : 0;
#pragma omp simd
            for (int64_t k = row; k < row + m; k++) {
                double before = up ? rx[k - up] + bx[k - up] : 0.0, after = down ? ax[k + down] : 0.0;
                bar[k] += lx[k] + ly[k] + ax[k] - bx[k] + ay[k] - by[k] + before - after;
            }
#pragma omp simd
            for (int64_t k = row + 1; k < row + m; k++)
                bar[k] += ry[k - 1] + by[k - 1];
#pragma omp simd
            for (int64_t k = row; k < row + m - 1; k++)
                bar[k] -= ay[k + 1];
        }
}

double gradient(const double *s0, double c, const double *target, int64_t steps, double *bar, int64_t n, int64_t m)
{
    Grid g = {n, m, n * m, c};
    double *w[10], *kept = buffer(11, (steps + 1) * 3 * g.plane);
    workspace(w, 10, g);
    run(s0, kept, w, g, steps, steps + 1);
    clear(w[LX], 3 * g.plane), clear(w[RX], 3 * g.plane); /* the forward sweep had fluxes there */
    clear(bar, 3 * g.plane);
    double value = distance(kept + steps * 3 * g.plane, target, bar, g.plane);
#pragma omp parallel
    for (int64_t t = steps - 1; t >= 0; t--)
        step_back(kept + t * 3 * g.plane, bar, w, g);
    return value;
}
