"""Tracking by a Kalman filter, whose likelihood is minus infinity if a covariance is not positive definite."""

import numpy as np


class KalmanFilter:
    def __init__(self, F, H, Q, R, x0, P0):
        self.F, self.H, self.Q, self.R = F, H, Q, R
        self.x, self.P = x0, P0
        self.loglik = 0.0

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        if z is None or np.isnan(z).any():
            return
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        try:
            L = np.linalg.cholesky(S)
        except np.linalg.LinAlgError:
            self.loglik = -np.inf
            return
        a = np.linalg.solve(L, y)
        self.loglik -= 0.5 * a @ a + np.log(np.diag(L)).sum() + 0.5 * len(z) * np.log(2 * np.pi)
        K = np.linalg.solve(S, self.H @ self.P).T
        self.x = self.x + K @ y
        self.P = (np.eye(len(self.x)) - K @ self.H) @ self.P

def f(logq, logr, zs):
    dt = 0.5
    F = np.eye(4) + dt * np.eye(4, k=2)
    H = np.eye(2, 4)
    G = np.vstack([0.5 * dt**2 * np.eye(2), dt * np.eye(2)])
    Q = np.exp(logq) * G @ G.T + 1e-9 * np.eye(4)
    kf = KalmanFilter(F, H, Q, np.exp(logr) * np.eye(2), np.zeros(4), 10 * np.eye(4))
    for z in zs:
        kf.predict()
        kf.update(z)
    return -kf.loglik

ARGNUMS = (0, 1)
def args():
    z = np.cumsum(np.random.default_rng(7).standard_normal((12, 2)), axis=0)
    z[4] = np.nan
    return (-1.0, 0.3, z)
