"""Are the claimed errors true? Random questions to the library, each answer judged by code that shares nothing with it."""

from .points import Point as Point
from .points import random_point as random_point
from .points import random_points as random_points
from .points import steep_point as steep_point
from .verdict import SECONDS as SECONDS
from .verdict import STEEP_SECONDS as STEEP_SECONDS
from .verdict import Judged as Judged
from .verdict import Outcome as Outcome
from .verdict import judge as judge
