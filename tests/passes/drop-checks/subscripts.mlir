// adc opt --passes=drop-checks
// A subscript that is in range for all that is known is used as it is; a constant one still counts from the end.

func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.constant -1 : index
  %at = adc.bound %i, %n : index
  %end = adc.bound %last, %n : index
  %y = memref.load %x[%at] : memref<?xf64>
  %z = memref.load %x[%end] : memref<?xf64>
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}

// becomes
func.func @f(%x: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %x, 0 : memref<?xf64>
  %last = arith.constant -1 : index
  %end = arith.addi %last, %n : index
  %y = memref.load %x[%i] : memref<?xf64>
  %z = memref.load %x[%end] : memref<?xf64>
  %s = arith.addf %y, %z : f64
  func.return %s : f64
}
