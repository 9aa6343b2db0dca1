/* LSTM with diagonal weights: value, and the gradient by the weights and the extra ones. The tape has the gates, tanh of
   the cell, and the state before, of each layer and step, and what comes out. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FORGET, INGATE, OUTGATE, CHANGE, TANH, HIDDEN, CELL, INPUT, KEPT };

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double forward(const double *restrict main_, const double *restrict extra, const double *restrict state,
                      const double *restrict sequence, double *restrict tape, int64_t layers, int64_t c, int64_t b)
{
    double *now = malloc(2 * layers * b * sizeof *now), total = 0;
    memcpy(now, state, 2 * layers * b * sizeof *now);
    for (int64_t t = 0; t < c - 1; t++) {
        double *step = tape + t * b * (KEPT * layers + 1), *out = step + KEPT * layers * b, sum = 2;
        const double *in = sequence + t * b, *wanted = in + b;
        for (int64_t k = 0; k < layers; k++) {
            const double *restrict w = main_ + 8 * b * k, *restrict bias = w + 4 * b;
            double *restrict hidden = now + 2 * b * k, *restrict cell = hidden + b, *restrict kept = step + KEPT * k * b;
            for (int64_t i = 0; i < b; i++) {
                double x = k ? now[2 * b * (k - 1) + i] : in[i] * extra[i];
                double forget = sigmoid(x * w[i] + bias[i]);
                double ingate = sigmoid(hidden[i] * w[b + i] + bias[b + i]);
                double outgate = sigmoid(x * w[2 * b + i] + bias[2 * b + i]);
                double change = tanh(hidden[i] * w[3 * b + i] + bias[3 * b + i]);
                kept[INPUT * b + i] = x, kept[HIDDEN * b + i] = hidden[i], kept[CELL * b + i] = cell[i];
                kept[FORGET * b + i] = forget, kept[INGATE * b + i] = ingate, kept[OUTGATE * b + i] = outgate;
                kept[CHANGE * b + i] = change;
                cell[i] = cell[i] * forget + ingate * change;
                kept[TANH * b + i] = tanh(cell[i]);
                hidden[i] = outgate * kept[TANH * b + i];
            }
        }
        for (int64_t i = 0; i < b; i++) {
            out[i] = now[2 * b * (layers - 1) + i] * extra[b + i] + extra[2 * b + i];
            sum += exp(out[i]);
        }
        double norm = log(sum);
        for (int64_t i = 0; i < b; i++)
            total += wanted[i] * (out[i] - norm);
    }
    free(now);
    return -total / ((c - 1) * b);
}

double value(const double *main_, const double *extra, const double *state, const double *sequence, double *tape,
             int64_t layers, int64_t c, int64_t b)
{
    return forward(main_, extra, state, sequence, tape, layers, c, b);
}

double gradient(const double *restrict main_, const double *restrict extra, const double *restrict state,
                const double *restrict sequence, double *restrict main_bar, double *restrict extra_bar,
                double *restrict tape, int64_t layers, int64_t c, int64_t b)
{
    double loss = forward(main_, extra, state, sequence, tape, layers, c, b), scale = -1.0 / ((c - 1) * b);
    double *bars = calloc(2 * layers * b, sizeof *bars), *x_bar = malloc(b * sizeof *x_bar);
    memset(main_bar, 0, 8 * layers * b * sizeof *main_bar), memset(extra_bar, 0, 3 * b * sizeof *extra_bar);
    for (int64_t t = c - 2; t >= 0; t--) {
        const double *step = tape + t * b * (KEPT * layers + 1), *out = step + KEPT * layers * b;
        const double *in = sequence + t * b, *wanted = in + b, *top = step + KEPT * (layers - 1) * b;
        double sum = 2, weight = 0;
        for (int64_t i = 0; i < b; i++)
            sum += exp(out[i]), weight += wanted[i];
        for (int64_t i = 0; i < b; i++) {
            double bar = scale * (wanted[i] - weight * exp(out[i]) / sum);
            extra_bar[b + i] += bar * top[OUTGATE * b + i] * top[TANH * b + i];
            extra_bar[2 * b + i] += bar;
            bars[2 * b * (layers - 1) + i] += bar * extra[b + i];
        }
        for (int64_t k = layers - 1; k >= 0; k--) {
            const double *restrict w = main_ + 8 * b * k, *restrict kept = step + KEPT * k * b;
            double *restrict w_bar = main_bar + 8 * b * k, *restrict bias_bar = w_bar + 4 * b;
            double *restrict hidden_bar = bars + 2 * b * k, *restrict cell_bar = hidden_bar + b;
            for (int64_t i = 0; i < b; i++) {
                double x = kept[INPUT * b + i], hidden = kept[HIDDEN * b + i], forget = kept[FORGET * b + i];
                double ingate = kept[INGATE * b + i], outgate = kept[OUTGATE * b + i], change = kept[CHANGE * b + i];
                double th = kept[TANH * b + i], bar = hidden_bar[i];
                double cell = cell_bar[i] + bar * outgate * (1 - th * th);
                double f = cell * kept[CELL * b + i] * forget * (1 - forget), g = cell * change * ingate * (1 - ingate);
                double o = bar * th * outgate * (1 - outgate), h = cell * ingate * (1 - change * change);
                w_bar[i] += f * x, bias_bar[i] += f;
                w_bar[b + i] += g * hidden, bias_bar[b + i] += g;
                w_bar[2 * b + i] += o * x, bias_bar[2 * b + i] += o;
                w_bar[3 * b + i] += h * hidden, bias_bar[3 * b + i] += h;
                cell_bar[i] = cell * forget;
                hidden_bar[i] = g * w[b + i] + h * w[3 * b + i];
                x_bar[i] = f * w[i] + o * w[2 * b + i];
            }
            for (int64_t i = 0; i < b; i++)
                if (k)
                    bars[2 * b * (k - 1) + i] += x_bar[i];
                else
                    extra_bar[i] += x_bar[i] * in[i];
        }
    }
    free(bars), free(x_bar);
    return loss;
}
