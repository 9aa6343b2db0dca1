/* Lorenz' equations by the classical Runge-Kutta method; x y + z at the end and its gradient by the initial state and the
   three parameters. Three numbers per step are stored; the stages of a step are computed again, beside the chain of
   cotangents that the reverse sweep has to follow. */
#include "common.h"

typedef struct {
    double x, y, z;
} V;

typedef struct {
    double sigma, rho, beta;
} P;

static inline V rhs(V s, P p) { return (V){p.sigma * (s.y - s.x), s.x * (p.rho - s.z) - s.y, s.x * s.y - p.beta * s.z}; }

static inline V axpy(V s, double h, V k) { return (V){s.x + h * k.x, s.y + h * k.y, s.z + h * k.z}; }

static inline V transposed(V s, P p, V k)
{
    return (V){-p.sigma * k.x + (p.rho - s.z) * k.y + s.y * k.z, p.sigma * k.x - k.y + s.x * k.z,
               -s.x * k.y - p.beta * k.z};
}

static inline void parameters(V s, V k, P *bar)
{
    bar->sigma += (s.y - s.x) * k.x, bar->rho += s.x * k.y, bar->beta -= s.z * k.z;
}

static inline V step(V s, P p, double dt)
{
    V a = rhs(s, p), b = rhs(axpy(s, dt / 2, a), p), c = rhs(axpy(s, dt / 2, b), p), d = rhs(axpy(s, dt, c), p);
    double h = dt / 6;
    return (V){s.x + h * (a.x + 2 * (b.x + c.x) + d.x), s.y + h * (a.y + 2 * (b.y + c.y) + d.y),
               s.z + h * (a.z + 2 * (b.z + c.z) + d.z)};
}

double primal(double x, double y, double z, double sigma, double rho, double beta, double dt, int64_t steps)
{
    V s = {x, y, z};
    P p = {sigma, rho, beta};
    for (int64_t t = 0; t < steps; t++)
        s = step(s, p, dt);
    return s.x * s.y + s.z;
}

double gradient(double x, double y, double z, double sigma, double rho, double beta, double dt, int64_t steps, double *out)
{
    V s = {x, y, z}, *tape = (V *)buffer(0, 3 * (size_t)steps + 1);
    P p = {sigma, rho, beta}, bar = {0, 0, 0};
    for (int64_t t = 0; t < steps; t++) {
        tape[t] = s;
        s = step(s, p, dt);
    }
    double value = s.x * s.y + s.z;
    V l = {s.y, s.x, 1};
    for (int64_t t = steps - 1; t >= 0; t--) {
        V s1 = tape[t], s2 = axpy(s1, dt / 2, rhs(s1, p)), s3 = axpy(s1, dt / 2, rhs(s2, p)), s4 = axpy(s1, dt, rhs(s3, p));
        V zero = {0, 0, 0}, sixth = axpy(zero, dt / 6, l), third = axpy(zero, dt / 3, l);
        V b4 = transposed(s4, p, sixth);
        V k3 = axpy(third, dt, b4), b3 = transposed(s3, p, k3);
        V k2 = axpy(third, dt / 2, b3), b2 = transposed(s2, p, k2);
        V k1 = axpy(sixth, dt / 2, b2), b1 = transposed(s1, p, k1);
        parameters(s4, sixth, &bar), parameters(s3, k3, &bar), parameters(s2, k2, &bar), parameters(s1, k1, &bar);
        l = (V){l.x + ((b1.x + b2.x) + (b3.x + b4.x)), l.y + ((b1.y + b2.y) + (b3.y + b4.y)),
                l.z + ((b1.z + b2.z) + (b3.z + b4.z))};
    }
    out[0] = l.x, out[1] = l.y, out[2] = l.z, out[3] = bar.sigma, out[4] = bar.rho, out[5] = bar.beta;
    return value;
}
