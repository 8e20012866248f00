"""Laws of location: which positions are relevant, the signal in their keys, and the law of the tokens around them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symslr.model.location.covariance import Covariance as Covariance
    from symslr.model.location.signal import SignalLaw as SignalLaw
    from symslr.model.location.where import Independent as Independent
    from symslr.model.location.where import OnePosition as OnePosition
    from symslr.model.location.where import Subset as Subset
else:
    from symslr.lazily import handed_on

    __getattr__, __dir__, __all__ = handed_on(__name__, __file__)
