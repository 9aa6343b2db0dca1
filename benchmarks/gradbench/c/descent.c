/* Gradient descent on two programs, with derivatives by hand: the particle's in forward mode along its path. */
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double (*Function)(int64_t n, const double *x, const double *fixed, double *gradient);

static double length(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* The least of f from x on, in place. A gradient is asked for where it is needed only. */
static void descend(Function f, int64_t n, double *x, const double *fixed)
{
    double slope[2], new[2], moved[2], value = f(n, x, fixed, slope), eta = 1e-5;
    int good = 0;
    while (length(n, slope) > 1e-5) {
        if (good == 10) {
            eta *= 2, good = 0;
            continue;
        }
        for (int64_t i = 0; i < n; i++)
            new[i] = x[i] - eta * slope[i], moved[i] = new[i] - x[i];
        if (length(n, moved) <= 1e-5)
            return;
        double found = f(n, new, fixed, 0);
        if (found < value) {
            memcpy(x, new, n * sizeof *x), value = found, good++;
            f(n, x, fixed, slope);
        } else
            eta /= 2, good = 0;
    }
}

/* The square of the place where the path meets the axis, by w[0]. */
static double missed(int64_t n, const double *w, const double *fixed, double *gradient)
{
    (void)n, (void)fixed;
    const double dt = 0.1;
    double at[2] = {0, 8}, speed[2] = {0.75, 0}, d_at[2] = {0, 0}, d_speed[2] = {0, 0};
    const double charges[2][2] = {{10, 10 - w[0]}, {10, 0}}, d_charges[2][2] = {{0, -1}, {0, 0}};
    while (at[1] + dt * speed[1] > 0) {
        double force[2] = {0, 0}, d_force[2] = {0, 0};
        for (int q = 0; q < 2; q++) { /* the gradient of 1 / r is -(at - charge) / r^3 */
            double r[2] = {at[0] - charges[q][0], at[1] - charges[q][1]}, square = r[0] * r[0] + r[1] * r[1];
            double cube = 1 / (square * sqrt(square));
            force[0] += r[0] * cube, force[1] += r[1] * cube;
            if (gradient) {
                double d[2] = {d_at[0] - d_charges[q][0], d_at[1] - d_charges[q][1]};
                double radial = 3 * (r[0] * d[0] + r[1] * d[1]) / square;
                d_force[0] += (d[0] - r[0] * radial) * cube, d_force[1] += (d[1] - r[1] * radial) * cube;
            }
        }
        for (int i = 0; i < 2; i++) {
            at[i] += dt * speed[i], d_at[i] += dt * d_speed[i];
            speed[i] += dt * force[i], d_speed[i] += dt * d_force[i];
        }
    }
    double t = -at[1] / speed[1], end = at[0] + t * speed[0];
    if (gradient) {
        double d_t = -(d_at[1] + t * d_speed[1]) / speed[1];
        gradient[0] = 2 * end * (d_at[0] + d_t * speed[0] + t * d_speed[0]);
    }
    return end * end;
}

double particle(double w)
{
    descend(missed, 1, &w, 0);
    return w;
}

static double below(int64_t n, const double *y, const double *x, double *gradient)
{
    for (int64_t i = 0; gradient && i < n; i++)
        gradient[i] = 2 * y[i];
    return y[0] * y[0] + y[1] * y[1] - (x[0] * x[0] + x[1] * x[1]);
}

/* The largest f(x, .): `start` is where the inner descent begins. Its result does not depend on x. */
static double largest(int64_t n, const double *x, const double *start, double *gradient)
{
    double y[2] = {start[0], start[1]};
    descend(below, n, y, x);
    for (int64_t i = 0; gradient && i < n; i++)
        gradient[i] = 2 * x[i];
    return x[0] * x[0] + x[1] * x[1] - (y[0] * y[0] + y[1] * y[1]);
}

double saddle(const double *start, double *found)
{
    memcpy(found, start, 2 * sizeof *found), memcpy(found + 2, start, 2 * sizeof *found);
    descend(largest, 2, found, start);
    descend(below, 2, found + 2, found);
    return 0;
}
