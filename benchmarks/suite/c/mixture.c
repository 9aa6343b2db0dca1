/* The log-likelihood of a Gaussian mixture with a Wishart prior, by the weights, the means and the inverse covariance
   factors; each factor has its logarithmic diagonal first and then its lower triangle by columns.

   SIMD goes over points: blocks of them are transposed. The reverse pass computes the products Q (x - mu) again, and sums
   its terms in accumulators of the thread. */
#include "common.h"

enum { BLOCK = 64, MOST = 32 };

typedef struct {
    int64_t n, k, d, size; /* points, components, dimensions, numbers in a factor */
    const double *alphas, *means, *icf, *x;
} Mixture;

/* The factors as full lower triangles, by rows, and the logarithms of their determinants. */
static void unpack(Mixture g, double *R lower, double *R sums)
{
    for (int64_t c = 0; c < g.k; c++) {
        const double *f = g.icf + c * g.size;
        double *q = lower + c * g.d * g.d;
        sums[c] = 0;
        for (int64_t i = 0; i < g.d; i++) {
            q[i * g.d + i] = exp(f[i]);
            sums[c] += f[i];
        }
        int64_t at = g.d;
        for (int64_t j = 0; j < g.d; j++)
            for (int64_t i = j + 1; i < g.d; i++)
                q[i * g.d + j] = f[at++];
    }
}

typedef double Lanes[BLOCK];

static inline void centre(Mixture g, int64_t c, Lanes *R x, Lanes *R v)
{
    for (int64_t i = 0; i < g.d; i++) {
        double mean = g.means[c * g.d + i];
#pragma omp simd
        for (int b = 0; b < BLOCK; b++)
            v[i][b] = x[i][b] - mean;
    }
}

static inline void times_factor(int64_t d, const double *R q, Lanes *R v, double *R out, int64_t i)
{
    double sum[BLOCK];
    double diagonal = q[i * d + i];
#pragma omp simd
    for (int b = 0; b < BLOCK; b++)
        sum[b] = diagonal * v[i][b];
    for (int64_t j = 0; j < i; j++) {
        double entry = q[i * d + j];
#pragma omp simd
        for (int b = 0; b < BLOCK; b++)
            sum[b] += entry * v[j][b];
    }
#pragma omp simd
    for (int b = 0; b < BLOCK; b++)
        out[b] = sum[b];
}

/* Functions of their own: inlined into the parallel region, GCC does not vectorise them. */
static __attribute__((noinline)) double dot(const double *R a, const double *R b)
{
    double sum = 0;
    for (int k = 0; k < BLOCK; k++)
        sum += a[k] * b[k];
    return sum;
}

/* bar becomes -w bar; its sum. */
static __attribute__((noinline)) double weigh(double *R bar, const double *R w)
{
    double sum = 0;
    for (int k = 0; k < BLOCK; k++) {
        bar[k] *= -w[k];
        sum += bar[k];
    }
    return sum;
}

static inline void load(Mixture g, int64_t from, int count, Lanes *R x)
{
    for (int b = 0; b < BLOCK; b++)
        for (int64_t i = 0; i < g.d; i++)
            x[i][b] = g.x[(from + (b < count ? b : 0)) * g.d + i];
}

/* Terms of all components for a block; on return they hold the components' shares. The sum of logarithms is returned. */
static inline double block_terms(Mixture g, const double *lower, const double *sums, Lanes *x, Lanes *terms, int count)
{
    Lanes v[MOST], most, total;
    for (int64_t c = 0; c < g.k; c++) {
        double base = g.alphas[c] + sums[c], out[BLOCK];
        centre(g, c, x, v);
        for (int b = 0; b < BLOCK; b++)
            terms[c][b] = base;
        for (int64_t i = 0; i < g.d; i++) {
            times_factor(g.d, lower + c * g.d * g.d, v, out, i);
#pragma omp simd
            for (int b = 0; b < BLOCK; b++)
                terms[c][b] -= 0.5 * out[b] * out[b];
        }
    }
    for (int b = 0; b < BLOCK; b++)
        most[b] = terms[0][b], total[b] = 0;
    for (int64_t c = 1; c < g.k; c++)
#pragma omp simd
        for (int b = 0; b < BLOCK; b++)
            most[b] = fmax(most[b], terms[c][b]);
    for (int64_t c = 0; c < g.k; c++)
#pragma omp simd
        for (int b = 0; b < BLOCK; b++) {
            terms[c][b] = exp(terms[c][b] - most[b]);
            total[b] += terms[c][b];
        }
    double sum = 0;
    for (int b = 0; b < count; b++)
        sum += most[b] + log(total[b]);
    for (int b = 0; b < BLOCK; b++)
        total[b] = b < count ? 1 / total[b] : 0;
    for (int64_t c = 0; c < g.k; c++)
#pragma omp simd
        for (int b = 0; b < BLOCK; b++)
            terms[c][b] *= total[b];
    return sum;
}

/* What does not depend on the points: the prior and the normalisation of the weights, and their derivatives. */
static double rest(Mixture g, double gamma, int64_t m, double constant, double *by_alphas, double *by_icf)
{
    double prior = 0, most = -INFINITY, total = 0;
    for (int64_t c = 0; c < g.k; c++) {
        const double *f = g.icf + c * g.size;
        double squares = 0, sum = 0;
        for (int64_t i = 0; i < g.d; i++) {
            double e = exp(f[i]);
            squares += e * e, sum += f[i];
            if (by_icf)
                by_icf[c * g.size + i] += gamma * gamma * e * e - (double)m;
        }
        for (int64_t i = g.d; i < g.size; i++) {
            squares += f[i] * f[i];
            if (by_icf)
                by_icf[c * g.size + i] += gamma * gamma * f[i];
        }
        prior += 0.5 * gamma * gamma * squares - (double)m * sum;
        most = fmax(most, g.alphas[c]);
    }
    for (int64_t c = 0; c < g.k; c++)
        total += exp(g.alphas[c] - most);
    if (by_alphas)
        for (int64_t c = 0; c < g.k; c++)
            by_alphas[c] -= (double)g.n * exp(g.alphas[c] - most) / total;
    return constant + prior - (double)g.n * (most + log(total));
}

double primal(const double *alphas, const double *means, const double *icf, const double *x, double gamma, int64_t m,
              double constant, int64_t n, int64_t k, int64_t d)
{
    Mixture g = {n, k, d, d * (d + 1) / 2, alphas, means, icf, x};
    double *lower = buffer(0, k * d * d), *sums = buffer(1, k), total = 0;
    unpack(g, lower, sums);
#pragma omp parallel reduction(+ : total)
    {
        Lanes rows[MOST], *terms = malloc(sizeof(Lanes) * (size_t)k);
#pragma omp for schedule(static)
        for (int64_t from = 0; from < n; from += BLOCK) {
            int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
            load(g, from, count, rows);
            total += block_terms(g, lower, sums, rows, terms, count);
        }
        free(terms);
    }
    return total + rest(g, gamma, m, constant, NULL, NULL);
}

double gradient(const double *alphas, const double *means, const double *icf, const double *x, double gamma, int64_t m,
                double constant, double *by_alphas, double *by_means, double *by_icf, int64_t n, int64_t k, int64_t d)
{
    Mixture g = {n, k, d, d * (d + 1) / 2, alphas, means, icf, x};
    double *lower = buffer(0, k * d * d), *sums = buffer(1, k), total = 0;
    size_t each = (size_t)k * (1 + d + d * d);
    double *all = buffer(2, each * omp_get_max_threads());
    int threads = 1;
    unpack(g, lower, sums);
#pragma omp parallel reduction(+ : total)
    {
        Lanes rows[MOST], v[MOST], bar[MOST], *terms = malloc(sizeof(Lanes) * (size_t)k);
        double *shares = all + each * omp_get_thread_num(), *sum_bar = shares + k, *outer = sum_bar + k * d;
#pragma omp single
        threads = omp_get_num_threads();
        clear(shares, each);
#pragma omp for schedule(static)
        for (int64_t from = 0; from < n; from += BLOCK) {
            int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
            load(g, from, count, rows);
            total += block_terms(g, lower, sums, rows, terms, count);
            for (int64_t c = 0; c < k; c++) {
                const double *w = terms[c];
                double share = 0;
                for (int b = 0; b < BLOCK; b++)
                    share += w[b];
                shares[c] += share;
                centre(g, c, rows, v);
                for (int64_t i = 0; i < d; i++) {
                    times_factor(d, lower + c * d * d, v, bar[i], i);
                    sum_bar[c * d + i] += weigh(bar[i], w);
                    for (int64_t j = 0; j <= i; j++)
                        outer[(c * d + i) * d + j] += dot(bar[i], v[j]);
                }
            }
        }
        free(terms);
    }
    for (int t = 1; t < threads; t++)
        for (size_t i = 0; i < each; i++)
            all[i] += all[each * t + i];
    const double *shares = all, *sum_bar = shares + k, *outer = sum_bar + k * d;
    for (int64_t c = 0; c < k; c++) {
        const double *q = lower + c * d * d, *o = outer + c * d * d, *s = sum_bar + c * d;
        double *f = by_icf + c * g.size;
        by_alphas[c] = shares[c];
        for (int64_t i = 0; i < d; i++) {
            double sum = 0;
            for (int64_t r = i; r < d; r++)
                sum += q[r * d + i] * s[r];
            by_means[c * d + i] = -sum;
            f[i] = shares[c] + o[i * d + i] * q[i * d + i];
        }
        int64_t at = d;
        for (int64_t j = 0; j < d; j++)
            for (int64_t i = j + 1; i < d; i++)
                f[at++] = o[i * d + j];
    }
    return total + rest(g, gamma, m, constant, by_alphas, by_icf);
}
