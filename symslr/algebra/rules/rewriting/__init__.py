"""Ordinary algebra and definitions written out."""
