/* k-means: the cost, and Newton's direction from the sizes and the sums of clusters. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static int64_t nearest(const double *restrict a, const double *restrict centroids, int64_t k, int64_t d, double *best)
{
    int64_t which = 0;
    *best = INFINITY;
    for (int64_t j = 0; j < k; j++) {
        double sum = 0;
        for (int64_t i = 0; i < d; i++)
            sum += (a[i] - centroids[j * d + i]) * (a[i] - centroids[j * d + i]);
        if (sum < *best)
            *best = sum, which = j;
    }
    return which;
}

double value(const double *points, const double *centroids, int64_t n, int64_t k, int64_t d)
{
    double total = 0, best;
    for (int64_t p = 0; p < n; p++) {
        nearest(points + p * d, centroids, k, d, &best);
        total += best;
    }
    return total;
}

double direction(const double *restrict points, const double *restrict centroids, double *restrict out,
                 double *restrict work, int64_t n, int64_t k, int64_t d)
{
    double *sums = work, *counts = work + k * d, best;
    memset(work, 0, k * (d + 1) * sizeof *work);
    for (int64_t p = 0; p < n; p++) {
        int64_t j = nearest(points + p * d, centroids, k, d, &best);
        counts[j] += 1;
        for (int64_t i = 0; i < d; i++)
            sums[j * d + i] += points[p * d + i];
    }
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < d; i++)
            out[j * d + i] = centroids[j * d + i] - sums[j * d + i] / counts[j];
    return 0;
}
