"""Are the claimed errors true? Random questions to the library, each answer judged by code that shares nothing with it."""

from symslr.check.honesty.points import Point as Point
from symslr.check.honesty.points import random_point as random_point
from symslr.check.honesty.points import random_points as random_points
from symslr.check.honesty.verdict import SECONDS as SECONDS
from symslr.check.honesty.verdict import Judged as Judged
from symslr.check.honesty.verdict import Outcome as Outcome
from symslr.check.honesty.verdict import judge as judge
