"""Readers and writers of images, disparity maps, calibrations and other files."""

from stereo_framework.io.calibration import (
    kitti_cameras,
    read_any_calibration,
    read_calibration,
    read_kitti_calibration,
    write_opencv_calibration,
)
from stereo_framework.io.disparity import read_disparity, write_disparity
from stereo_framework.io.file_lock import has_locks, is_locked, locked
from stereo_framework.io.file_names import encoding_fault, file_stem, name_fault
from stereo_framework.io.files import PathLike, check_file, has_content, read_bytes
from stereo_framework.io.images import read_grey, read_image, read_mask, write_image
from stereo_framework.io.output_folders import (
    changed_since_written,
    check_not_linked,
    check_replaceable,
    is_replaceable,
    output_folder,
    remove_partial_files,
    resolve_inside,
    write_bytes,
)
from stereo_framework.io.raw import read_pfm, write_pfm, write_points
from stereo_framework.io.registered_readers import reader, registered_suffixes
from stereo_framework.io.stereo_calibration import StereoCalibration, read_stereo_calibration
from stereo_framework.io.tiff import geo_tags

__all__ = [
    "PathLike",
    "StereoCalibration",
    "changed_since_written",
    "check_file",
    "check_not_linked",
    "check_replaceable",
    "encoding_fault",
    "file_stem",
    "geo_tags",
    "has_content",
    "has_locks",
    "is_locked",
    "is_replaceable",
    "kitti_cameras",
    "locked",
    "name_fault",
    "output_folder",
    "read_any_calibration",
    "read_bytes",
    "read_calibration",
    "read_disparity",
    "read_grey",
    "read_image",
    "read_kitti_calibration",
    "read_mask",
    "read_pfm",
    "read_stereo_calibration",
    "reader",
    "registered_suffixes",
    "remove_partial_files",
    "resolve_inside",
    "write_bytes",
    "write_disparity",
    "write_image",
    "write_opencv_calibration",
    "write_pfm",
    "write_points",
]
