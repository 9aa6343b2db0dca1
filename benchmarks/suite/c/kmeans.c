/* The cost of k-means: the sum of squared distances of n points from the nearest of k centres, and its gradient by the
   centres. SIMD goes over points, blocks of which are transposed; what a centre gets is its number of points times itself
   less their sum. */
#include "common.h"

enum { BLOCK = 64, MOST = 64 };

typedef double Lanes[BLOCK];

/* Squared distances from the nearest centres, and which these are. */
static inline void nearest(const double *R points, const double *R centres, int64_t from, int count, int64_t k, int64_t d,
                           double *R best, int64_t *R which)
{
    Lanes x[MOST];
    for (int b = 0; b < BLOCK; b++)
        for (int64_t i = 0; i < d; i++)
            x[i][b] = points[(from + (b < count ? b : 0)) * d + i];
    for (int b = 0; b < BLOCK; b++)
        best[b] = INFINITY, which[b] = 0;
    for (int64_t c = 0; c < k; c++) {
        Lanes sum = {0};
        for (int64_t i = 0; i < d; i++) {
            double centre = centres[c * d + i];
#pragma omp simd
            for (int b = 0; b < BLOCK; b++)
                sum[b] += (x[i][b] - centre) * (x[i][b] - centre);
        }
#pragma omp simd
        for (int b = 0; b < BLOCK; b++) {
            which[b] = sum[b] < best[b] ? c : which[b];
            best[b] = sum[b] < best[b] ? sum[b] : best[b];
        }
    }
}

double primal(const double *points, const double *centres, int64_t n, int64_t k, int64_t d)
{
    double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t from = 0; from < n; from += BLOCK) {
        int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
        Lanes best;
        int64_t which[BLOCK];
        nearest(points, centres, from, count, k, d, best, which);
        for (int b = 0; b < count; b++)
            total += best[b];
    }
    return total;
}

double gradient(const double *points, const double *centres, double *bar, int64_t n, int64_t k, int64_t d)
{
    double total = 0;
    size_t each = (size_t)k * (d + 1);
    double *all = buffer(0, each * omp_get_max_threads());
    int threads = 1;
#pragma omp parallel reduction(+ : total)
    {
        double *sums = all + each * omp_get_thread_num(), *counts = sums + k * d;
#pragma omp single
        threads = omp_get_num_threads();
        clear(sums, each);
#pragma omp for schedule(static)
        for (int64_t from = 0; from < n; from += BLOCK) {
            int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
            Lanes best;
            int64_t which[BLOCK];
            nearest(points, centres, from, count, k, d, best, which);
            for (int b = 0; b < count; b++) {
                const double *R x = points + (from + b) * d;
                double *R sum = sums + which[b] * d;
                total += best[b];
                counts[which[b]] += 1;
                for (int64_t i = 0; i < d; i++)
                    sum[i] += x[i];
            }
        }
    }
    for (int t = 1; t < threads; t++)
        for (size_t i = 0; i < each; i++)
            all[i] += all[each * t + i];
    for (int64_t c = 0; c < k; c++)
        for (int64_t i = 0; i < d; i++)
            bar[c * d + i] = 2 * (all[k * d + c] * centres[c * d + i] - all[c * d + i]);
    return total;
}
