/* Runge-Kutta on a chain: the solution, and the gradient of its last component, with the states of all stages on a tape. */
#include <stdint.h>
#include <string.h>

static void slope(int64_t n, const double *restrict x, const double *restrict y, double *restrict z)
{
    z[0] = x[0];
    for (int64_t i = 1; i < n; i++)
        z[i] = x[i] * y[i - 1];
}

static void moved(int64_t n, const double *restrict y, double h, const double *restrict k, double *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = y[i] + h * k[i];
}

/* One step; the states of its stages go to `stages` (4 n), the new one to y. */
static void step(int64_t n, const double *restrict x, double *restrict y, double h, double *restrict stages,
                 double *restrict k)
{
    double *k1 = k, *k2 = k + n, *k3 = k + 2 * n, *k4 = k + 3 * n;
    memcpy(stages, y, n * sizeof *y);
    slope(n, x, y, k1);
    moved(n, y, h / 2, k1, stages + n);
    slope(n, x, stages + n, k2);
    moved(n, y, h / 2, k2, stages + 2 * n);
    slope(n, x, stages + 2 * n, k3);
    moved(n, y, h, k3, stages + 3 * n);
    slope(n, x, stages + 3 * n, k4);
    for (int64_t i = 0; i < n; i++)
        y[i] += h * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
}

double value(const double *x, double *y, double *work, int64_t n, int64_t s)
{
    memset(y, 0, n * sizeof *y);
    for (int64_t t = 0; t < s; t++)
        step(n, x, y, 2.0 / s, work, work + 4 * n);
    return y[n - 1];
}

/* What a stage with state y adds, if its slope counts k_bar: to x_bar, and to the adjoint of the state. */
static void back(int64_t n, const double *restrict x, const double *restrict y, const double *restrict k_bar,
                 double *restrict x_bar, double *restrict y_bar)
{
    x_bar[0] += k_bar[0];
    for (int64_t i = 1; i < n; i++) {
        x_bar[i] += k_bar[i] * y[i - 1];
        y_bar[i - 1] = k_bar[i] * x[i];
    }
    y_bar[n - 1] = 0;
}

double gradient(const double *restrict x, double *restrict x_bar, double *restrict tape, double *restrict work, int64_t n,
                int64_t s)
{
    double h = 2.0 / s, *y = work, *k = work + n, *y_bar = work, *k_bar = work + n, *at_bar = work + 2 * n;
    memset(y, 0, n * sizeof *y);
    for (int64_t t = 0; t < s; t++)
        step(n, x, y, h, tape + 4 * n * t, k);
    double last = y[n - 1];
    memset(y_bar, 0, n * sizeof *y_bar), memset(x_bar, 0, n * sizeof *x_bar);
    y_bar[n - 1] = 1;
    for (int64_t t = s - 1; t >= 0; t--) {
        const double *stages = tape + 4 * n * t;
        double *sum = work + 3 * n;
        memcpy(sum, y_bar, n * sizeof *sum);
        for (int64_t i = 0; i < n; i++)
            k_bar[i] = h / 6 * y_bar[i];
        back(n, x, stages + 3 * n, k_bar, x_bar, at_bar);
        for (int64_t i = 0; i < n; i++)
            sum[i] += at_bar[i], k_bar[i] = h / 3 * y_bar[i] + h * at_bar[i];
        back(n, x, stages + 2 * n, k_bar, x_bar, at_bar);
        for (int64_t i = 0; i < n; i++)
            sum[i] += at_bar[i], k_bar[i] = h / 3 * y_bar[i] + h / 2 * at_bar[i];
        back(n, x, stages + n, k_bar, x_bar, at_bar);
        for (int64_t i = 0; i < n; i++)
            sum[i] += at_bar[i], k_bar[i] = h / 6 * y_bar[i] + h / 2 * at_bar[i];
        back(n, x, stages, k_bar, x_bar, at_bar);
        for (int64_t i = 0; i < n; i++)
            y_bar[i] = sum[i] + at_bar[i];
    }
    return last;
}
