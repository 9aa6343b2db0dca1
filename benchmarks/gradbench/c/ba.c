/* Bundle adjustment: errors, and their sparse Jacobian in CSR form, from the derivative of each projection. */
#include <math.h>
#include <stdint.h>

enum { CAMERA = 11, BLOCK = CAMERA + 4 };

static void cross(const double *a, const double *b, double *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

/* y = R(r) x; if `by_r`, also the derivatives of y[i] by r[j] and by x[j], at 3 i + j. */
static void rotate(const double *r, const double *x, double *y, double *by_r, double *by_x)
{
    double square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2], turn[3];
    double skew_x[9] = {0, x[2], -x[1], -x[2], 0, x[0], x[1], -x[0], 0}; /* of r x x by r */
    if (square == 0) {
        cross(r, x, turn);
        double skew_r[9] = {0, -r[2], r[1], r[2], 0, -r[0], -r[1], r[0], 0};
        for (int i = 0; i < 3; i++)
            y[i] = x[i] + turn[i];
        for (int i = 0; by_r && i < 9; i++)
            by_r[i] = skew_x[i], by_x[i] = skew_r[i] + (i % 4 == 0);
        return;
    }
    double angle = sqrt(square), cosine = cos(angle), sine = sin(angle), inverse = 1 / angle, w[3];
    for (int i = 0; i < 3; i++)
        w[i] = r[i] * inverse;
    cross(w, x, turn);
    double dot = w[0] * x[0] + w[1] * x[1] + w[2] * x[2], along = dot * (1 - cosine);
    for (int i = 0; i < 3; i++)
        y[i] = x[i] * cosine + turn[i] * sine + w[i] * along;
    if (!by_r)
        return;
    double skew_w[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0}, by_w[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            by_x[3 * i + j] = skew_w[3 * i + j] * sine + w[i] * w[j] * (1 - cosine) + (i == j) * cosine;
            by_w[3 * i + j] = skew_x[3 * i + j] * sine + w[i] * x[j] * (1 - cosine) + (i == j) * along;
        }
    for (int i = 0; i < 3; i++) {
        double by_angle = -x[i] * sine + turn[i] * cosine + w[i] * dot * sine;
        double radial = by_w[3 * i] * w[0] + by_w[3 * i + 1] * w[1] + by_w[3 * i + 2] * w[2];
        for (int j = 0; j < 3; j++)
            by_r[3 * i + j] = (by_w[3 * i + j] - radial * w[j]) * inverse + by_angle * w[j];
    }
}

/* The image of a point; if `block`, its derivatives by the camera and the point, 2 rows of BLOCK. */
static void project(const double *camera, const double *point, double *image, double *block)
{
    double x[3] = {point[0] - camera[3], point[1] - camera[4], point[2] - camera[5]}, y[3], by_r[9], by_x[9];
    rotate(camera, x, y, block ? by_r : 0, by_x);
    double p[2] = {y[0] / y[2], y[1] / y[2]}, square = p[0] * p[0] + p[1] * p[1], f = camera[6];
    double stretch = 1 + camera[9] * square + camera[10] * square * square;
    double slope = 2 * (camera[9] + 2 * camera[10] * square);
    for (int a = 0; a < 2; a++)
        image[a] = p[a] * stretch * f + camera[7 + a];
    for (int a = 0; block && a < 2; a++, block += BLOCK) {
        double by_p[2], by_y[3];
        for (int b = 0; b < 2; b++)
            by_p[b] = f * (p[a] * slope * p[b] + (a == b) * stretch);
        by_y[0] = by_p[0] / y[2], by_y[1] = by_p[1] / y[2];
        by_y[2] = -(by_p[0] * p[0] + by_p[1] * p[1]) / y[2];
        for (int j = 0; j < 3; j++) {
            block[j] = by_y[0] * by_r[j] + by_y[1] * by_r[3 + j] + by_y[2] * by_r[6 + j];
            double d = by_y[0] * by_x[j] + by_y[1] * by_x[3 + j] + by_y[2] * by_x[6 + j];
            block[CAMERA + j] = d, block[3 + j] = -d;
        }
        block[6] = p[a] * stretch;
        block[7] = a == 0, block[8] = a == 1;
        block[9] = p[a] * square * f, block[10] = p[a] * square * square * f;
    }
}

double value(const double *cameras, const double *points, const double *weights, const int64_t *seen,
             const double *features, double *errors, double *lost, int64_t p)
{
    for (int64_t i = 0; i < p; i++) {
        double image[2];
        project(cameras + CAMERA * seen[2 * i], points + 3 * seen[2 * i + 1], image, 0);
        for (int a = 0; a < 2; a++)
            errors[2 * i + a] = weights[i] * (image[a] - features[2 * i + a]);
    }
    for (int64_t i = 0; i < p; i++)
        lost[i] = 1 - weights[i] * weights[i];
    return 0;
}

double jacobian(const double *cameras, const double *points, const double *weights, const int64_t *seen,
                const double *features, double *errors, double *lost, double *values, int64_t *rows, int64_t *columns,
                int64_t n, int64_t m, int64_t p)
{
    rows[0] = 0;
    for (int64_t i = 0; i < p; i++) {
        int64_t camera = seen[2 * i], point = seen[2 * i + 1], *column = columns + 2 * BLOCK * i;
        double image[2], *block = values + 2 * BLOCK * i;
        project(cameras + CAMERA * camera, points + 3 * point, image, block);
        for (int a = 0; a < 2; a++, block += BLOCK, column += BLOCK) {
            for (int j = 0; j < BLOCK - 1; j++)
                block[j] *= weights[i];
            block[BLOCK - 1] = image[a] - features[2 * i + a];
            errors[2 * i + a] = weights[i] * block[BLOCK - 1];
            for (int j = 0; j < CAMERA; j++)
                column[j] = CAMERA * camera + j;
            for (int j = 0; j < 3; j++)
                column[CAMERA + j] = CAMERA * n + 3 * point + j;
            column[BLOCK - 1] = CAMERA * n + 3 * m + i;
            rows[2 * i + a + 1] = BLOCK * (2 * i + a + 1);
        }
    }
    for (int64_t i = 0; i < p; i++) {
        int64_t at = 2 * BLOCK * p + i;
        lost[i] = 1 - weights[i] * weights[i];
        values[at] = -2 * weights[i], columns[at] = CAMERA * n + 3 * m + i, rows[2 * p + i + 1] = at + 1;
    }
    return 0;
}
