/* Least squares: value, and the gradient by the coefficients. */
#include <math.h>
#include <stdint.h>

static double at(int64_t i, int64_t n)
{
    return -1 + i * 2.0 / (n - 1);
}

static double rest(const double *x, int64_t m, double t)
{
    double left = (t > 0) - (t < 0);
    for (int64_t j = 0; j < m; j++)
        left -= x[j] * pow(t, j);
    return left;
}

double value(const double *restrict x, int64_t m, int64_t n)
{
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        double left = rest(x, m, at(i, n));
        total += left * left;
    }
    return total / 2;
}

double gradient(const double *restrict x, double *restrict bar, double *restrict left, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        left[i] = rest(x, m, at(i, n));
    for (int64_t j = 0; j < m; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += left[i] * pow(at(i, n), j);
        bar[j] = -sum;
    }
    return 0;
}

/* The same with t^j as a product that goes along. */
double gradient_by_products(const double *restrict x, double *restrict bar, double *restrict left, int64_t m, int64_t n)
{
    (void)left;
    for (int64_t j = 0; j < m; j++)
        bar[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        double t = at(i, n), rest = (t > 0) - (t < 0), power = 1;
        for (int64_t j = 0; j < m; j++, power *= t)
            rest -= x[j] * power;
        power = 1;
        for (int64_t j = 0; j < m; j++, power *= t)
            bar[j] -= rest * power;
    }
    return 0;
}
