/* Gaussian mixture: value, and the gradient by the weights, the means and the packed factors. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define R restrict

static void times_triangle(int64_t d, const double *R diagonal, const double *R below, const double *R x, double *R out)
{
    for (int64_t i = 0; i < d; i++)
        out[i] = diagonal[i] * x[i];
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = i + 1; j < d; j++)
            out[j] += *below++ * x[i];
}

static double square(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* log sum exp; `share` becomes its gradient. */
static double log_sum_exp(int64_t n, const double *x, double *share)
{
    double largest = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += share[i] = exp(x[i] - largest);
    for (int64_t i = 0; i < n; i++)
        share[i] /= sum;
    return log(sum) + largest;
}

static double run(const double *R alpha, const double *R mu, const double *R q, const double *R l, const double *R x,
                  double gamma, int64_t m, double constant, double *R alpha_bar, double *R mu_bar, double *R q_bar,
                  double *R l_bar, int64_t d, int64_t k, int64_t n)
{
    int64_t triangle = d * (d - 1) / 2;
    double *work = malloc((k * d + 2 * k + (1 + k) * d + k * d + k) * sizeof *work);
    double *diagonals = work, *sums = diagonals + k * d, *terms = sums + k, *centred = terms + k;
    double *turned = centred + k * d, *share = turned + k * d;
    double total = constant - 0.5 * n * d * log(2 * M_PI);
    for (int64_t c = 0; c < k; c++) {
        sums[c] = 0;
        for (int64_t i = 0; i < d; i++) {
            diagonals[c * d + i] = exp(q[c * d + i]);
            sums[c] += q[c * d + i];
        }
    }
    if (alpha_bar) {
        memset(alpha_bar, 0, k * sizeof *work), memset(mu_bar, 0, k * d * sizeof *work);
        memset(q_bar, 0, k * d * sizeof *work), memset(l_bar, 0, k * triangle * sizeof *work);
    }
    for (int64_t p = 0; p < n; p++) {
        for (int64_t c = 0; c < k; c++) {
            double *R u = centred + c * d, *R v = turned + c * d;
            for (int64_t i = 0; i < d; i++)
                u[i] = x[p * d + i] - mu[c * d + i];
            times_triangle(d, diagonals + c * d, l + c * triangle, u, v);
            terms[c] = alpha[c] + sums[c] - 0.5 * square(d, v);
        }
        total += log_sum_exp(k, terms, share);
        if (!alpha_bar)
            continue;
        for (int64_t c = 0; c < k; c++) {
            const double *R u = centred + c * d, *R v = turned + c * d, *R below = l + c * triangle;
            double *R below_bar = l_bar + c * triangle, s = share[c];
            alpha_bar[c] += s;
            for (int64_t i = 0; i < d; i++) {
                double back = diagonals[c * d + i] * v[i], ui = s * u[i];
                q_bar[c * d + i] += s - ui * back;
                for (int64_t j = i + 1; j < d; j++) {
                    back += *below++ * v[j];
                    *below_bar++ -= ui * v[j];
                }
                mu_bar[c * d + i] += s * back;
            }
        }
    }
    total -= n * log_sum_exp(k, alpha, share);
    for (int64_t c = 0; c < k; c++)
        total -= 0.5 * gamma * gamma * (square(d, diagonals + c * d) + square(triangle, l + c * triangle)) - m * sums[c];
    for (int64_t c = 0; alpha_bar && c < k; c++) {
        alpha_bar[c] -= n * share[c];
        for (int64_t i = 0; i < d; i++)
            q_bar[c * d + i] += m - gamma * gamma * diagonals[c * d + i] * diagonals[c * d + i];
        for (int64_t i = 0; i < triangle; i++)
            l_bar[c * triangle + i] -= gamma * gamma * l[c * triangle + i];
    }
    free(work);
    return total;
}

double value(const double *alpha, const double *mu, const double *q, const double *l, const double *x, double gamma,
             int64_t m, double constant, int64_t d, int64_t k, int64_t n)
{
    return run(alpha, mu, q, l, x, gamma, m, constant, NULL, NULL, NULL, NULL, d, k, n);
}

double gradient(const double *alpha, const double *mu, const double *q, const double *l, const double *x, double gamma,
                int64_t m, double constant, double *alpha_bar, double *mu_bar, double *q_bar, double *l_bar, int64_t d,
                int64_t k, int64_t n)
{
    return run(alpha, mu, q, l, x, gamma, m, constant, alpha_bar, mu_bar, q_bar, l_bar, d, k, n);
}
