/* The determinant by minors: value; the gradient as cofactors; and the adjoint of the recursion. */
#include <stdint.h>
#include <string.h>

enum { MOST = 64 };

static double minor(const double *a, int64_t n, int64_t m, int64_t *rows, int64_t *columns)
{
    int64_t row = rows[n], column = columns[n], before = n;
    if (m == 1)
        return a[row * n + column];
    double total = 0, sign = 1;
    rows[n] = rows[row];
    for (int64_t j = 0; j < m; j++, sign = -sign) {
        columns[before] = columns[column];
        total += sign * a[row * n + column] * minor(a, n, m - 1, rows, columns);
        columns[before] = column;
        before = column;
        column = columns[column];
    }
    rows[n] = row;
    return total;
}

static void all(int64_t n, int64_t *list)
{
    for (int64_t i = 0; i < n; i++)
        list[i] = i + 1;
    list[n] = 0;
}

double value(const double *a, int64_t n)
{
    int64_t rows[MOST], columns[MOST];
    all(n, rows), all(n, columns);
    return minor(a, n, n, rows, columns);
}

double gradient(const double *a, double *bar, int64_t n)
{
    int64_t rows[MOST], columns[MOST];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            all(n, rows), all(n, columns);
            rows[i == 0 ? n : i - 1] = i + 1;
            columns[j == 0 ? n : j - 1] = j + 1;
            bar[i * n + j] = ((i + j) % 2 ? -1 : 1) * (n == 1 ? 1 : minor(a, n, n - 1, rows, columns));
        }
    return 0;
}

/* The minor, and its gradient times `seed` added to bar: sub-minors are computed again on the way back. */
static double both(const double *a, double *bar, double seed, int64_t n, int64_t m, int64_t *rows, int64_t *columns)
{
    int64_t row = rows[n], column = columns[n], before = n;
    if (m == 1) {
        bar[row * n + column] += seed;
        return a[row * n + column];
    }
    double total = 0, sign = 1;
    rows[n] = rows[row];
    for (int64_t j = 0; j < m; j++, sign = -sign) {
        columns[before] = columns[column];
        double entry = sign * a[row * n + column], smaller = both(a, bar, seed * entry, n, m - 1, rows, columns);
        total += entry * smaller;
        bar[row * n + column] += sign * seed * smaller;
        columns[before] = column;
        before = column;
        column = columns[column];
    }
    rows[n] = row;
    return total;
}

double adjoint(const double *a, double *bar, int64_t n)
{
    int64_t rows[MOST], columns[MOST];
    all(n, rows), all(n, columns);
    memset(bar, 0, n * n * sizeof *bar);
    return both(a, bar, 1, n, n, rows, columns);
}
