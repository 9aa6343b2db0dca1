/* The logarithm of a sum of exponentials: value and gradient. */
#include <math.h>
#include <stdint.h>

static double most(const double *x, int64_t n)
{
    double largest = x[0];
    for (int64_t i = 1; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest;
}

double value(const double *x, int64_t n)
{
    double largest = most(x, n), sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - largest);
    return log(sum) + largest;
}

double gradient(const double *restrict x, double *restrict bar, int64_t n)
{
    double largest = most(x, n), sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += bar[i] = exp(x[i] - largest);
    for (int64_t i = 0; i < n; i++)
        bar[i] /= sum;
    return 0;
}
