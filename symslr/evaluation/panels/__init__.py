"""Integrals over tokens by Gauss-Legendre panels whose errors are proved, and over Laplace variables by the trapezoid rule."""
