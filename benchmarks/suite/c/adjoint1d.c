/* sum of w[i] sin(2 x[i-1]) cos(3 x[i]) 4 x[i+1] over the inner points, and its gradient by x.

   Block by block: the sines and cosines of a block and its rim go to buffers, the partials of its points to further ones,
   and these are added shifted. Nothing is written twice, so blocks go to threads as they are. */
#include "common.h"

enum { BLOCK = 1024, RIM = 2, ROOM = BLOCK + 2 * RIM };

double primal(const double *R x, const double *R w, int64_t n)
{
    double total = 0;
#pragma omp parallel for simd schedule(static) reduction(+ : total)
    for (int64_t i = 1; i < n - 1; i++)
        total += w[i] * (sin(2 * x[i - 1]) * cos(3 * x[i]) * 4 * x[i + 1]);
    return total;
}

double gradient(const double *R x, const double *R w, double *R bar, int64_t n)
{
    double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t first = 0; first < n; first += BLOCK) {
        double s2[ROOM], c2[ROOM], s3[ROOM], c3[ROOM], left[ROOM], middle[ROOM], right[ROOM];
        int count = n - first < BLOCK ? (int)(n - first) : BLOCK;
        /* Buffers start two points before the block: element k is point first - 2 + k. */
        int low = first < RIM ? (int)(RIM - first) : 0;
        int high = n - first + RIM < count + 2 * RIM ? (int)(n - first + RIM) : count + 2 * RIM;
        const double *R y = x + first - RIM, *R v = w + first - RIM;
#pragma omp simd
        for (int k = low; k < high; k++)
            s2[k] = sin(2 * y[k]);
#pragma omp simd
        for (int k = low; k < high; k++)
            c2[k] = cos(2 * y[k]);
#pragma omp simd
        for (int k = low; k < high; k++)
            s3[k] = sin(3 * y[k]);
#pragma omp simd
        for (int k = low; k < high; k++)
            c3[k] = cos(3 * y[k]);
        clear(left, ROOM);
        clear(middle, ROOM);
        clear(right, ROOM);
#pragma omp simd
        for (int k = low + 1; k < high - 1; k++) {
            double four = 4 * v[k];
            left[k] = 2 * four * c2[k - 1] * c3[k] * y[k + 1];
            middle[k] = -3 * four * s2[k - 1] * s3[k] * y[k + 1];
            right[k] = four * s2[k - 1] * c3[k];
        }
        int from = low + 1 > RIM ? low + 1 : RIM, to = high - 1 < RIM + count ? high - 1 : RIM + count;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int k = from; k < to; k++)
            sum += right[k] * y[k + 1];
        total += sum;
#pragma omp simd
        for (int k = RIM; k < RIM + count; k++)
            bar[first - RIM + k] = left[k + 1] + middle[k] + right[k - 1];
    }
    return total;
}
