/* The value of a book of European calls by Black and Scholes' formula, and its derivatives by spots, times, volatilities and
   the rate. The density at d1 serves all of them: s phi(d1) = k exp(-rt) phi(d2). */
#include "common.h"

static const double HALF_ROOT = 0.70710678118654752440, DENSITY = 0.39894228040143267794;

double primal(const double *R s, const double *R k, const double *R t, const double *R vol, double rate, int64_t n)
{
    double total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
    for (int64_t i = 0; i < n; i++) {
        double spread = vol[i] * sqrt(t[i]);
        double d1 = (log(s[i] / k[i]) + (rate + 0.5 * vol[i] * vol[i]) * t[i]) / spread, d2 = d1 - spread;
        total += 0.5 * (s[i] * erfc(-d1 * HALF_ROOT) - k[i] * exp(-rate * t[i]) * erfc(-d2 * HALF_ROOT));
    }
    return total;
}

double gradient(const double *R s, const double *R k, const double *R t, const double *R vol, double rate, double *R by_s,
                double *R by_t, double *R by_vol, double *R by_rate, int64_t n)
{
    double total = 0, rho = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total, rho)
    for (int64_t i = 0; i < n; i++) {
        double root = sqrt(t[i]), spread = vol[i] * root;
        double d1 = (log(s[i] / k[i]) + (rate + 0.5 * vol[i] * vol[i]) * t[i]) / spread, d2 = d1 - spread;
        double first = 0.5 * erfc(-d1 * HALF_ROOT);
        double second = k[i] * exp(-rate * t[i]) * (0.5 * erfc(-d2 * HALF_ROOT));
        double density = s[i] * DENSITY * exp(-0.5 * d1 * d1);
        total += s[i] * first - second;
        by_s[i] = first;
        by_t[i] = 0.5 * density * vol[i] / root + rate * second;
        by_vol[i] = density * root;
        rho += t[i] * second;
    }
    *by_rate = rho;
    return total;
}
