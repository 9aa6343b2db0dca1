/* Half the squared distance of tanh(A x) from a target, A in compressed rows; by the entries of A and by x.

   Rows are done in blocks: sums go to a buffer, so that the tanh is a vector one. What columns collect, each thread sums in
   an array of its own; these are added at the end. */
#include "common.h"

enum { BLOCK = 256 };

static inline void row_sums(const double *R values, const int64_t *R columns, const int64_t *R first, const double *R x,
                            double *R s, int64_t from, int count)
{
    for (int k = 0; k < count; k++) {
        double sum = 0;
        for (int64_t e = first[from + k]; e < first[from + k + 1]; e++)
            sum += values[e] * x[columns[e]];
        s[k] = sum;
    }
#pragma omp simd
    for (int k = 0; k < count; k++)
        s[k] = tanh(s[k]);
}

double primal(const double *R values, const double *R x, const int64_t *R columns, const int64_t *R first,
              const double *R target, int64_t n)
{
    double total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
    for (int64_t from = 0; from < n; from += BLOCK) {
        double s[BLOCK];
        int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
        row_sums(values, columns, first, x, s, from, count);
        for (int k = 0; k < count; k++)
            total += (s[k] - target[from + k]) * (s[k] - target[from + k]);
    }
    return 0.5 * total;
}

double gradient(const double *R values, const double *R x, const int64_t *R columns, const int64_t *R first,
                const double *R target, double *R by_values, double *R by_x, int64_t n)
{
    double total = 0;
    int most = omp_get_max_threads();
    double *own = buffer(0, (size_t)n * most);
    int threads = 1;
#pragma omp parallel reduction(+ : total)
    {
        int me = omp_get_thread_num();
        double *R mine = me ? own + (size_t)me * n : by_x;
#pragma omp single
        threads = omp_get_num_threads();
        clear(mine, n);
#pragma omp barrier
#pragma omp for schedule(static)
        for (int64_t from = 0; from < n; from += BLOCK) {
            double s[BLOCK];
            int count = n - from < BLOCK ? (int)(n - from) : BLOCK;
            row_sums(values, columns, first, x, s, from, count);
            for (int k = 0; k < count; k++) {
                double d = s[k] - target[from + k];
                total += d * d;
                s[k] = d * (1 - s[k] * s[k]);
            }
            for (int k = 0; k < count; k++)
                for (int64_t e = first[from + k]; e < first[from + k + 1]; e++) {
                    by_values[e] = s[k] * x[columns[e]];
                    mine[columns[e]] += s[k] * values[e];
                }
        }
        if (threads > 1) {
#pragma omp for simd schedule(static)
            for (int64_t i = 0; i < n; i++) {
                double sum = by_x[i];
                for (int t = 1; t < threads; t++)
                    sum += own[(size_t)t * n + i];
                by_x[i] = sum;
            }
        }
    }
    return 0.5 * total;
}
